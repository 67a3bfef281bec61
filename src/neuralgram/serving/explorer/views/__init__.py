"""The views, one file each: members of `families.VIEWS`."""
