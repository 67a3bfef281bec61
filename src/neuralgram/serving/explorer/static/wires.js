// The wires of a drawn network: where they run follows from where the numbers stand; thickness and sign are given.
window.explorer.wires = {
  svg: (tag, attributes = {}) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  },
  show(node, bundles, open) {
    const net = node.querySelector(".net.wired");
    if (!net) return;
    let layer = net.querySelector("svg.wires");
    if (!layer) {
      layer = this.svg("svg", { class: "wires" });
      net.append(layer);
      Object.assign(layer, { nodes: new Map(), groups: [], bundles: [] });
      layer.addEventListener("keydown", (event) => this.key(layer, event));
      for (const name of ["mouseover", "focusin", "mouseout", "focusout"]) net.addEventListener(name, (event) => {
        const at = event.target.closest("[data-n]");
        layer.near = name.endsWith("out") ? null : at?.dataset.n ?? null;
        if (name === "mouseover" && at?.said) at.lastChild.textContent = at.said;
        this.light(layer);
      });
      new ResizeObserver(() => this.lay(net, layer)).observe(net);
    }
    const gone = new Set(layer.nodes.keys());
    layer.bundles = bundles.map(({ label, wires, lit }, i) => {
      const group = layer.groups[i] ??= layer.appendChild(this.svg("g", { role: "group" }));
      group.setAttribute("aria-label", label);
      for (const [key, from, to, share, sign, said] of wires) {
        gone.delete(key);
        const wire = layer.nodes.get(key) ?? this.make(layer, group, key);
        Object.assign(wire, { from, to, on: lit, bundle: i });
        if (wire.share !== share) { // attributes: to inherit a custom property to all of them is slow
          wire.line.setAttribute("stroke-width", (0.6 + 5.4 * share).toFixed(2));
          wire.line.setAttribute("stroke-opacity", (0.18 + 0.72 * share).toFixed(2));
          wire.share = share;
        }
        wire.classList.toggle("down", sign < 0);
        if (wire.said !== said) wire.setAttribute("aria-label", wire.said = said);
      }
      return wires.map(([key]) => layer.nodes.get(key));
    });
    for (const key of gone) {
      const wire = layer.nodes.get(key);
      if (wire.matches(":hover, :focus") && layer.bundles[wire.bundle]) layer.bundles[wire.bundle].push(wire); // not from under a hand
      else { wire.remove(); layer.nodes.delete(key); }
    }
    for (const wires of layer.bundles) { // one stop of the Tab key a bundle; arrow keys go from wire to wire
      const focused = wires.find((wire) => wire === document.activeElement) ?? wires[0];
      for (const wire of wires) this.stop(wire, wire === focused ? 0 : -1);
    }
    layer.open = open;
    this.lay(net, layer);
    this.light(layer);
  },
  stop(wire, tab) {
    if (wire.getAttribute("tabindex") !== String(tab)) wire.setAttribute("tabindex", tab);
  },
  make(layer, group, key) {
    const wire = this.svg("g", { class: "wire", role: "button" });
    wire.dataset.n = key;
    wire.line = this.svg("path", { class: "line" });
    wire.append(this.svg("path", { class: "hit" }), wire.line, this.svg("title"));
    layer.nodes.set(key, wire);
    return group.appendChild(wire);
  },
  lay(net, layer) {
    const base = net.getBoundingClientRect(), left = base.left - net.scrollLeft + net.clientLeft, top = base.top + net.clientTop;
    const box = (node) => { const r = node.getBoundingClientRect(); return { left: r.left - left, right: r.right - left, top: r.top - top, bottom: r.bottom - top }; };
    const stages = Array.from(net.querySelectorAll(".stage")), boxes = stages.map(box), ends = new Map();
    for (const cell of net.querySelectorAll("button[data-n]")) {
      const { top, bottom } = box(cell);
      ends.set(cell.dataset.n, [stages.indexOf(cell.closest(".stage")), (top + bottom) / 2]);
    }
    net.classList.toggle("sideways", net.scrollWidth > net.clientWidth + 1);
    for (const wires of layer.bundles) for (const [i, wire] of wires.entries()) {
      const [from, y1] = ends.get(wire.from) ?? [-1], [to, y2] = ends.get(wire.to) ?? [-1];
      if (from < 0 || to < 0) continue;
      const x1 = boxes[from].right, x2 = boxes[to].left, between = boxes.slice(from + 1, to);
      const d = between.length ? this.around(x1, y1, x2, y2, between, i / wires.length) : this.across(x1, y1, x2, y2);
      if (wire.d !== d) for (const path of wire.querySelectorAll("path")) path.setAttribute("d", d);
      wire.d = d;
      if (between.length && !i) this.name(layer, wire, between);
    }
  },
  name(layer, wire, between) { // the gaps name the other matrices
    layer.text ??= layer.appendChild(this.svg("text"));
    layer.text.textContent = wire.dataset.n.includes("direct") ? "W" : "";
    layer.text.setAttribute("x", (between[0].left + between.at(-1).right) / 2);
    layer.text.setAttribute("y", Math.max(...between.map((b) => b.bottom)) + 38);
  },
  across: (x1, y1, x2, y2) => `M${x1} ${y1}C${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2} ${x2} ${y2}`,
  around(x1, y1, x2, y2, between, place) { // under the columns between, side by side
    const left = between[0].left, right = between.at(-1).right;
    const lane = Math.max(...between.map((b) => b.bottom)) + 8 + 16 * place;
    const first = (x1 + left) / 2, second = (right + x2) / 2;
    return `M${x1} ${y1}C${first} ${y1} ${first} ${lane} ${left} ${lane}H${right}C${second} ${lane} ${second} ${y2} ${x2} ${y2}`;
  },
  light(layer) { // the wires of the number or wire looked at, else of the stop on the path
    const looked = [layer.near, layer.open].filter(Boolean);
    const nodes = Array.from(layer.nodes), reads = ([key, wire]) => looked.some((n) => n === key || n === wire.from || n === wire.to);
    const found = nodes.some(reads);
    let some = false;
    for (const [key, wire] of nodes) {
      const lit = found ? reads([key, wire]) : wire.on;
      wire.classList.toggle("lit", lit);
      some ||= lit;
    }
    layer.classList.toggle("some", some);
  },
  key(layer, event) {
    const wire = event.target.closest(".wire"), wires = layer.bundles.find((list) => list.includes(wire));
    if (!wires) return;
    if (event.key === "Enter" || event.key === " ") wire.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const at = wires.indexOf(wire);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: wires.length - 1 }[event.key];
    if (to === undefined && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    if (to === undefined) return;
    const next = wires[(to + wires.length) % wires.length];
    for (const other of wires) this.stop(other, other === next ? 0 : -1);
    next.focus();
  },
};
