// The little that must happen in the browser: filling numbers into a page that stays, and a text that is too long.
window.explorer = {
  waiting: {},
  held: new Map(), // what training has brought while somebody pointed at what stands there
  show(id, html, values, open, inputs, wires, goesOn) {
    const node = document.getElementById(id);
    const before = node ? this.held.get(id) : this.waiting[id];
    const now = { html: html ?? before?.html ?? null, values: html === null ? { ...before?.values, ...values } : values, open, inputs, wires };
    if (!node) {
      this.waiting[id] = now;
      if (!before) setTimeout(() => { const w = this.waiting[id]; delete this.waiting[id]; this.show(id, w.html, w.values, w.open, w.inputs, w.wires, false); }, 30);
      return;
    }
    if (goesOn && now.html !== null && this.pointedAt(node)) {
      if (!before) for (const name of ["pointerleave", "focusout"]) node.addEventListener(name, this.release);
      this.held.set(id, now);
      node.classList.add("held");
      return;
    }
    this.held.delete(id);
    node.classList.remove("held");
    for (const name of ["pointerleave", "focusout"]) node.removeEventListener(name, this.release);
    this.fill(node, now);
  },
  pointedAt: (node) => node.firstElementChild && ((matchMedia("(hover: hover)").matches && node.matches(":hover")) || node.contains(document.activeElement)),
  release(event) {
    const node = event.currentTarget;
    setTimeout(() => { // once the focus has arrived elsewhere
      const held = explorer.held.get(node.id);
      if (held && !explorer.pointedAt(node)) explorer.show(node.id, held.html, held.values, held.open, held.inputs, held.wires, false);
    });
  },
  fill(node, { html, values, open, inputs, wires }) {
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.n : null;
    if (html !== null) node.innerHTML = html;
    for (const cell of node.querySelectorAll("[data-n]")) {
      const value = values[cell.dataset.n];
      if (value) {
        cell.textContent = value[0];
        if (value[1] !== null) cell.style.setProperty("--v", value[1]);
        if (value[2] !== null) cell.style.setProperty("--w", value[2]);
        if (value[3] !== null) cell.title = value[3];
      }
      cell.classList.toggle("in", inputs.includes(cell.dataset.n));
    }
    this.wires.show(node, wires, open);
    for (const cell of node.querySelectorAll("[data-n]")) {
      cell.classList.toggle("open", cell.dataset.n === open);
      if (html !== null && cell.dataset.n === focused) cell.focus({ preventScroll: true });
    }
  },
  picked(event) {
    const cell = event.target.closest("[data-n]");
    return cell && (cell.tagName === "BUTTON" || cell.role === "button") ? cell.dataset.n : null;
  },
  say(id, text) {
    const node = document.getElementById(id);
    if (node) node.textContent = text;
  },
  tooLong(text, limit, note) {
    if (text.length <= limit) return false;
    this.say(note, `That text has ${text.length.toLocaleString("en")} characters; this page takes up to ${limit.toLocaleString("en")}. Paste a part of it, or train on the whole with "neuralgram train nplm".`);
    return true;
  },
  paste(event, limit, note) { // a page that tried to show 50 million characters would freeze
    const text = event.clipboardData?.getData("text") ?? "";
    if (this.tooLong(text, limit, note)) event.preventDefault();
  },
  use(area, limit, note, emit) {
    const text = document.getElementById(area).value;
    if (this.tooLong(text, limit, note)) return;
    this.say(note, "");
    emit(text);
  },
  async load(input, area, limit, note) {
    if (input.type !== "file" || !input.files.length) return;
    const file = input.files[0];
    input.value = "";
    if (file.size > 4 * limit) { this.tooLong({ length: file.size }, limit, note); return; }
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      if (this.tooLong(text, limit, note)) return;
      document.getElementById(area).value = text;
      this.say(note, `${file.name}: ${text.length.toLocaleString("en")} characters. Now press "Use this text".`);
    } catch {
      this.say(note, `${file.name} is not text in UTF-8. Save it as UTF-8 and choose it again.`);
    }
  },
  async copy(query) { // the link where it cannot be copied
    const link = location.origin + location.pathname + (query ? "?" + query : "");
    try {
      await navigator.clipboard.writeText(link);
      return "";
    } catch {
      const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: link }));
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done ? "" : link;
    }
  },
  address(query) {
    history.replaceState(null, "", query ? "?" + query : location.pathname);
  },
};
document.addEventListener("keydown", (event) => { // Escape closes the number opened, where no menu wants it
  if (event.key !== "Escape" || document.querySelector(".q-menu")) return;
  for (const close of document.querySelectorAll(".opened button.q-btn")) if (close.offsetParent) close.click();
});
