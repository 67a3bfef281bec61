"""The contract of the model held against a module somebody else wrote, and somebody's tests against known faults."""
