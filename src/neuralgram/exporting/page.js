"use strict";
// The model of the page: x = [C[w(t−c)]; …; C[w(t−1)]], y = b + W x + U f(d + H x), p = softmax(y).
const model = JSON.parse(document.getElementById("data").textContent);
const bytesOf = (text) => Uint8Array.from(atob(text), (ch) => ch.charCodeAt(0));
const weights = {};
for (const [name, packed] of Object.entries(model.weights)) {
  if (packed.floats) { weights[name] = new Float32Array(bytesOf(packed.floats).buffer); continue; }
  const [rows, columns] = packed.shape;
  const scales = new Float32Array(bytesOf(packed.scales).buffer), numbers = new Int8Array(bytesOf(packed.numbers).buffer);
  const out = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++) for (let k = 0; k < columns; k++) out[r * columns + k] = scales[r] * numbers[r * columns + k];
  weights[name] = out;
}
const bend = {
  tanh: Math.tanh, relu: (z) => Math.max(z, 0), sigmoid: (z) => 0.5 * (1 + Math.tanh(z / 2)), identity: (z) => z,
}[model.activation];

function times(matrix, vector, out) { // out[r] += Σ_k matrix[r][k]·vector[k]
  const width = vector.length;
  for (let r = 0; r < out.length; r++) {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += matrix[r * width + k] * vector[k];
    out[r] += sum;
  }
  return out;
}

function scores(ids) {
  const m = model.m, x = new Float64Array(model.c * m);
  ids.forEach((id, place) => { for (let k = 0; k < m; k++) x[place * m + k] = weights["emb.weight"][id * m + k]; });
  let a = x;
  model.layers.forEach((name, i) => {
    const z = times(weights[name + ".weight"], a, Float64Array.from(weights[name + ".bias"]));
    a = z.map(bend);
  });
  const y = Float64Array.from(weights["out.bias"]);
  if (model.layers.length) {
    const g = weights["project.weight"] ? times(weights["project.weight"], a, new Float64Array(m)) : a;
    times(model.tie ? weights["emb.weight"] : weights["out.weight"], g, y);
  }
  if (weights["direct.weight"]) times(weights["direct.weight"], x, y);
  return y;
}

function logProbs(ids) {
  const y = scores(ids), highest = y.reduce((best, value) => Math.max(best, value), -Infinity);
  let sum = 0;
  for (const value of y) sum += Math.exp(value - highest);
  const shift = highest + Math.log(sum);
  return y.map((value) => value - shift);
}

// ---- text to ids and back ----
const tokenizer = model.tokenizer, unknown = model.unknown;
const pieces = tokenizer.pieces.map((hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16)));
const ids = new Map(model.symbols.map((symbol, id) => [symbol, id]).filter(([, id]) => id !== model.boundaryId));
const letters = (() => {
  const plain = (b) => (b >= 0x21 && b < 0x7f) || (b >= 0xa1 && b < 0xad) || b >= 0xae;
  let next = 0x100;
  return Array.from({ length: 256 }, (_, b) => String.fromCharCode(plain(b) ? b : next++));
})();
const ranks = new Map((tokenizer.merges ?? []).map((pair, rank) => [pair, rank]));

function looked(symbol) {
  const id = ids.get(symbol);
  if (id !== undefined) return id;
  if (unknown !== null) return unknown;
  throw new Error(`“${symbol}” is not among the ${model.V} tokens of this model.`);
}

function pairs(piece) { // one piece of text, its bytes merged in the order the merges were learned
  let parts = Array.from(new TextEncoder().encode(piece), (b) => letters[b]);
  while (parts.length > 1) {
    let best = Infinity, at = -1;
    for (let i = 0; i + 1 < parts.length; i++) {
      const rank = ranks.get(parts[i] + " " + parts[i + 1]) ?? Infinity;
      if (rank < best) { best = rank; at = i; }
    }
    if (at < 0) break;
    const pair = [parts[at], parts[at + 1]], merged = [];
    for (let i = 0; i < parts.length; i++) {
      if (i + 1 < parts.length && parts[i] === pair[0] && parts[i + 1] === pair[1]) { merged.push(pair[0] + pair[1]); i++; } else merged.push(parts[i]);
    }
    parts = merged;
  }
  return parts.map((part) => tokenizer.vocab[part]);
}

const cuts = {
  bytes: (text) => Array.from(new TextEncoder().encode(text)),
  chars: (text) => Array.from(text, looked),
  words: (text) => {
    const mark = /(?<![\p{L}\p{M}\p{N}])[\p{P}\p{S}]|[\p{P}\p{S}](?![\p{L}\p{M}\p{N}])/gu;
    const spaced = tokenizer.punctuation ? text.replace(mark, " $& ") : text;
    const words = (tokenizer.lowercase ? spaced.toLowerCase() : spaced).split(/\s+/u).filter(Boolean);
    return words.map(looked);
  },
  bpe: (text) => (text.match(/'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu) ?? []).flatMap(pairs),
};

function encode(text) { // ids of a text, units closed where the model closes them
  if (model.boundary !== "line") return cuts[tokenizer.name](text);
  return text.split("\n").flatMap((line, i) => [...(i ? [model.boundaryId] : []), ...cuts[tokenizer.name](line)]);
}

function decode(list, before) {
  const decoder = new TextDecoder(), joiner = new TextEncoder().encode(tokenizer.joiner);
  let out = "", between = before && !/\s$/u.test(before);
  for (const id of list) {
    if (id === model.boundaryId) { out += decoder.decode() + "\n"; between = false; continue; }
    if (between && joiner.length) out += decoder.decode(joiner, { stream: true });
    out += decoder.decode(pieces[id], { stream: true });
    between = true;
  }
  return out + decoder.decode();
}

function windowOf(list) { // the c ids before the next token; what is missing, and what lies before a unit, is the boundary
  const c = model.c, last = list.lastIndexOf(model.boundaryId);
  const unit = model.boundaryId === null ? list : list.slice(last + 1);
  if (unit.length >= c) return unit.slice(unit.length - c);
  if (model.boundaryId === null) return null;
  return [...Array(c - unit.length).fill(model.boundaryId), ...unit];
}

// ---- drawing tokens: temperature, top-k, and a generator of its own for every seed ----
function weighted(row, temperature, k) {
  const order = Array.from(row.keys()).sort((i, j) => row[j] - row[i] || i - j);
  const out = new Float64Array(row.length);
  if (temperature === 0) { out[order[0]] = 1; return out; }
  let total = 0;
  for (const i of order.slice(0, k > 0 ? k : order.length)) total += out[i] = Math.exp((row[i] - row[order[0]]) / temperature);
  return out.map((value) => value / total);
}

class PCG32 { // O'Neill 2014: the generator of the package, stream 54
  constructor(seed) { this.increment = 109n; this.state = 0n; this.next(); this.state = BigInt.asUintN(64, this.state + BigInt(seed)); this.next(); }
  next() {
    const old = this.state;
    this.state = BigInt.asUintN(64, old * 6364136223846793005n + this.increment);
    const x = Number(BigInt.asUintN(32, ((old >> 18n) ^ old) >> 27n)), turn = Number(old >> 59n);
    return ((x >>> turn) | (x << (-turn & 31))) >>> 0;
  }
  uniform() { return this.next() / 4294967296; }
}

function pick(row, uniform) {
  let running = 0;
  for (let i = 0; i < row.length; i++) { running += row[i]; if (running > uniform) return i; }
  return row.findLastIndex((value) => value > 0);
}

// ---- the page ----
const $ = (id) => document.getElementById(id);
const visible = (symbol) => ({ " ": "␣", "\n": "⏎", "\t": "⇥", "": "∅" })[symbol] ?? symbol;
const make = (tag, attributes = {}, ...children) => { const node = Object.assign(document.createElement(tag), attributes); node.append(...children); return node; };
let list = [], drawn = 0;

function sampling() { return [Number($("temperature").value), Number($("top").value)]; }

function show() {
  try { list = encode($("text").value); $("problem").textContent = ""; } catch (error) { $("problem").textContent = error.message; return; }
  const ids = windowOf(list);
  showWindow(ids);
  showBars(ids);
  showTokens();
}

function showWindow(ids) {
  $("window").replaceChildren(...(ids ?? []).map((id, place) => {
    const menu = make("select", { ariaLabel: `token ${ids.length - place} before the next` });
    model.symbols.forEach((symbol, i) => { if (i < 2000 || i === id) menu.append(make("option", { value: i, selected: i === id }, visible(symbol))); });
    menu.onchange = () => { const changed = [...ids]; changed[place] = Number(menu.value); $("text").value = decode(changed.filter((i, at) => i !== model.boundaryId || at > 0), ""); show(); };
    return menu;
  }));
}

function showBars(ids) {
  if (!ids) { $("bars").replaceChildren(); $("said").textContent = `This model reads ${model.c} tokens before it predicts: type some more.`; return; }
  const row = logProbs(ids), [temperature, k] = sampling(), weights = weighted(row, temperature, k);
  const order = Array.from(row.keys()).sort((i, j) => row[j] - row[i] || i - j).slice(0, 15);
  $("bars").replaceChildren(...order.flatMap((id) => {
    const button = make("button", { type: "button", ariaLabel: `add ${model.symbols[id]}` }, visible(model.symbols[id]));
    button.onclick = () => { $("text").value += decode([id], $("text").value); show(); };
    const bar = (value, colour) => { const b = make("span", { className: "bar " + colour }); b.style.width = `${Math.max(0.4, 75 * value)}%`; return make("span", { className: "line" }, b, make("small", {}, value.toFixed(4))); };
    return [button, make("span", {}, bar(Math.exp(row[id]), "plain"), bar(weights[id], "drawn"))];
  }));
  const best = order[0];
  $("said").textContent = `The likeliest next token is “${visible(model.symbols[best])}”, with probability ${Math.exp(row[best]).toFixed(4)} (${(-row[best]).toFixed(3)} nats).`;
}

function showTokens() {
  let total = 0, count = 0, body = [], cells = [];
  const shown = list.slice(-400), before = list.length - shown.length;
  shown.forEach((id, i) => {
    const at = before + i, ids = windowOf(list.slice(0, at));
    const loss = ids ? -logProbs(ids)[id] : null;
    if (loss !== null) { total += loss; count++; }
    const text = visible(model.symbols[id]);
    const cell = make("button", { type: "button", title: loss === null ? "not scored" : `${loss.toFixed(3)} nats` }, text);
    cell.style.setProperty("--w", loss === null ? 0 : Math.min(1, loss / (1.5 * Math.log(model.V))).toFixed(3));
    cell.onclick = () => { $("text").value = decode(list.slice(0, at + 1), ""); show(); };
    cells.push(cell);
    body.push(make("tr", {}, make("th", { scope: "row" }, text), make("td", {}, loss === null ? "–" : loss.toFixed(3))));
  });
  $("tokens").replaceChildren(...cells);
  $("table").replaceChildren(...body.slice(-100));
  $("perplexity").textContent = count ? `${count} tokens scored: ${(total / count).toFixed(4)} nats per token, perplexity ${Math.exp(total / count).toPrecision(4)}.` : "Nothing to score yet.";
}

function write(count) {
  const rng = new PCG32(Number($("seed").value) + drawn++), [temperature, k] = sampling(), made = [];
  for (let i = 0; i < count; i++) {
    const ids = windowOf([...list, ...made]);
    if (!ids) break;
    const row = logProbs(ids);
    if (unknown !== null) row[unknown] = -Infinity;
    const id = pick(weighted(row, temperature, k), rng.uniform());
    made.push(id);
    if (id === model.boundaryId && model.boundary === "document") break;
  }
  $("text").value += decode(made, $("text").value);
  show();
}

$("cost").textContent = model.cost;
$("sizes").textContent = `V = ${model.V} tokens (${tokenizer.name}), window c = ${model.c}, m = ${model.m}, hidden ${model.widths.join(", ") || "none"} (${model.activation}), ${model.direct ? "with" : "without"} the direct path; ${model.parameters.toLocaleString("en")} parameters.`;
for (const id of ["text", "temperature", "top"]) $(id).oninput = () => { for (const name of ["temperature", "top"]) $(name + "-value").textContent = $(name).value; show(); };
$("top").max = Math.min(model.V, 100);
$("one").onclick = () => write(1);
$("many").onclick = () => write(60);
{ // a first text: the likeliest beginning
  const start = model.boundaryId === null ? Array(model.c).fill(0) : Array(model.c).fill(model.boundaryId), made = [];
  const rng = new PCG32(1);
  for (let i = 0; i < 2 * model.c + 12; i++) made.push(pick(weighted(logProbs([...start, ...made].slice(-model.c)), 0.7, 0), rng.uniform()));
  $("text").value = decode(made.filter((id) => id !== model.boundaryId && id !== unknown), "");
  show();
}
