// @ts-check
/** Beside the tree: what may come next at the run's place, and how to grow the tree from there. */
import { fill, marked, percent } from "../generate/format.js"
import { renderBarList } from "../lib/bar-list.js"
import { h, part, set } from "../lib/dom.js"

/**
 * A heading or line that keeps its element.
 * @param {Element} root
 * @param {string} tag
 * @param {string} name
 * @param {string} content
 * @param {string} [look]
 */
export function line(root, tag, name, content, look = "") {
  const element = part(root, name, () => h(tag, { class: look }))
  if (element.textContent !== content) element.textContent = content
  element.hidden = content === ""
  return element
}

/**
 * A row of buttons of which one is pressed.
 * @param {Element} root
 * @param {string} name
 * @param {string} title
 * @param {{value: any, text: string, disabled?: boolean}[]} options
 * @param {any} chosen
 * @param {(value: any) => void} choose
 */
export function choice(root, name, title, options, chosen, choose) {
  const group = part(root, name, () => h("div", { class: "ntt-choice", role: "group" }, h("span", { class: "nt-muted" })))
  set(group, { "aria-label": title })
  const [label] = group.children
  label.textContent = title
  while (group.children.length > options.length + 1) group.lastElementChild?.remove()
  while (group.children.length < options.length + 1) group.append(h("button", { type: "button", class: "nt-chip" }))
  options.forEach(({ value, text, disabled }, i) => {
    const button = /** @type {HTMLButtonElement} */ (group.children[i + 1])
    if (button.textContent !== text) button.textContent = text
    button.disabled = disabled ?? false
    set(button, { "aria-pressed": value === chosen ? "true" : "false", onclick: () => choose(value) })
  })
}

/**
 * @param {Element} root
 * @param {string} name
 * @param {string} content
 * @param {() => void} press
 * @param {boolean} [disabled]
 * @param {string} [look]
 */
export function button(root, name, content, press, disabled = false, look = "nt-button") {
  const element = /** @type {HTMLButtonElement} */ (part(root, name, () => h("button", { type: "button", class: look })))
  if (element.textContent !== content) element.textContent = content
  element.disabled = disabled
  set(element, { onclick: press })
  return element
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {(kind: string, more?: any) => void} send
 */
export function renderHere(root, header, send) {
  const { labels, candidates } = header
  const row = header.nodes.find((/** @type {any} */ n) => n[0] === header.cursor)
  const token = marked(row ? row[3] : header.prompt)
  line(root, "h3", "title", fill(labels.here_title, { token }))
  const log = header.log_probability
  line(root, "p", "sums", row
    ? fill(labels.here_sums, { log: log.toFixed(3).replace("-", "−"), path: percent(Math.exp(log)) })
    : labels.here_root, "nt-muted")
  const likeliest = Math.max(...candidates.map((/** @type {any} */ c) => c.probability), 1e-9)
  renderBarList(root, "bars", candidates.map((/** @type {any} */ c) => ({
    id: c.token_id, text: marked(c.text), value: percent(c.probability), from: 0, to: c.probability / likeliest,
    note: c.number === null ? "" : labels.in_tree,
  })), {
    title: labels.candidates_name, colour: "var(--nt-logits)",
    choose: (id) => send("take", { node: header.cursor, value: id }),
  })
  line(root, "p", "rest", fill(labels.rest, { mass: percent(header.rest) }), "nt-muted")
  line(root, "p", "stop", header.stop ? labels[`stop_${header.stop.replaceAll("-", "_")}`] : "", "ntt-note")
  const acts = part(root, "acts", () => h("div", { class: "ntt-acts" }))
  button(acts, "next", labels.draw_next, () => send("next"), header.stop !== null)
}

/**
 * How many nodes `top_k` children each make down to `depth`.
 * @param {number} topK
 * @param {number} depth
 */
export function size(topK, depth) {
  let total = 0
  for (let level = 1; level <= depth; level++) total += topK ** level
  return total
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {{topK: number, depth: number}} wish
 * @param {() => void} repaint
 * @param {(kind: string, more?: any) => void} send
 */
export function renderGrow(root, header, wish, repaint, send) {
  const { labels } = header
  line(root, "h3", "title", labels.grow_title)
  line(root, "p", "sub", labels.grow_sub, "nt-muted")
  choice(root, "k", labels.grow_k, [1, 2, 3, 4, 5].map((k) => ({ value: k, text: String(k) })), wish.topK, (k) => {
    wish.topK = k
    repaint()
  })
  const deepest = header.deepest[wish.topK] ?? 0
  const depths = [1, 2, 3, 4, 5, 7, 12]
  const depth = Math.min(wish.depth, deepest)
  const offered = [...new Set([...depths.filter((d) => d <= deepest), depth].filter((d) => d > 0))].sort((a, b) => a - b)
  choice(root, "depth", labels.grow_depth, offered.map((d) => ({ value: d, text: String(d) })), depth, (d) => {
    wish.depth = d
    repaint()
  })
  const acts = part(root, "acts", () => h("div", { class: "ntt-acts" }))
  const busy = header.job !== null
  button(acts, "grow", labels.grow_start, () => send("grow", { node: header.cursor, top_k: wish.topK, depth }),
    busy || depth < 1, "nt-button primary")
  line(acts, "span", "size", depth > 0 ? fill(labels.grow_size, { count: size(wish.topK, depth) }) : labels.grow_none, "nt-muted")
  renderProgress(root, "grow", header, send)
}

/**
 * @param {HTMLElement} root
 * @param {string} kind
 * @param {any} header
 * @param {(kind: string, more?: any) => void} send
 */
export function renderProgress(root, kind, header, send) {
  const box = part(root, "progress", () => h("div", { class: "ntt-progress" },
    h("progress", {}), h("span", { "aria-live": "polite" })))
  const job = header.job?.kind === kind ? header.job : null
  box.hidden = job === null
  if (!job) return
  const [bar, text] = box.children
  const said = fill(header.labels[`progress_${kind}`], { done: job.done, total: job.total })
  set(bar, { max: job.total, value: job.done, "aria-label": said })
  text.textContent = said
  button(box, "stop", header.labels.stop, () => send("stop"))
}
