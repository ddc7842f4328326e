// @ts-check
/**
 * The concept map: stations along the pipeline, their ideas, and a line from each idea to those that need it. On a
 * narrow screen the same elements are a list without lines.
 */
import { forgetWidth, onWidth } from "./lib/canvas.js"
import { h, memory, part, set, svg } from "./lib/dom.js"
import { visited } from "./lib/visited.js"
import { fill } from "./generate/format.js"

export const styles = ["concepts.css"]

const LINES_FROM = 720 // px: below it the stations stand under each other

/** @typedef {{ number: number, name: string, sentence: string, where: string, needs: number[], leads: number[],
 *   page: string[] | null, sources: string[] }} Idea */
/** @typedef {{ header: any, emit: (event: string, payload?: any) => void, chosen: number, touched: boolean,
 *   seen: Set<string> }} Memory */
/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box */

/**
 * The idea to begin with: the first one, in the order of the map, whose page was not visited.
 * @param {Idea[]} ideas
 * @param {Set<string>} seen names of visited pages
 */
export function firstOpen(ideas, seen) {
  return (ideas.find((idea) => !isSeen(idea, seen)) ?? ideas[0]).number
}

/**
 * @param {Idea} idea
 * @param {Set<string>} seen
 */
export function isSeen(idea, seen) {
  return idea.page !== null && seen.has(idea.page[0])
}

/**
 * The path of a line from one box to another: from side to side where they stand apart, else along their left edge.
 * @param {Box} from
 * @param {Box} to
 */
export function curve(from, to) {
  const y0 = (from.top + from.bottom) / 2
  const y1 = (to.top + to.bottom) / 2
  if (to.left >= from.right || to.right <= from.left) {
    const [x0, x1] = to.left >= from.right ? [from.right, to.left] : [from.left, to.right]
    const bend = (x1 - x0) / 2
    return `M${x0} ${y0} C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`
  }
  const x = Math.min(from.left, to.left)
  const out = x - Math.min(18, 6 + Math.abs(y1 - y0) / 12)
  return `M${from.left} ${y0} C${out} ${y0} ${out} ${y1} ${to.left} ${y1}`
}

/**
 * @param {HTMLElement} element
 * @param {any} header stations, visited, labels
 * @param {any} _arrays
 * @param {(event: string, payload?: any) => void} emit `open` with the name of a page
 */
export function render(element, header, _arrays, emit) {
  const m = memory(element, () => /** @type {Memory} */ ({ header, emit, chosen: 0, touched: false, seen: new Set() }))
  Object.assign(m, { header, emit, seen: new Set([...visited(), ...header.visited]) })
  if (!m.chosen) m.chosen = firstOpen(ideasOf(m), m.seen)
  const root = part(element, "root", () => h("section", { class: "ntcm" }))
  set(root, { "aria-label": header.labels.title })
  progress(part(root, "progress", () => h("div", { class: "ntcm-progress" })), m)
  const map = part(root, "map", () => h("div", { class: "ntcm-map" }))
  const lines = part(map, "lines", () => svg("svg", { class: "ntcm-lines", "aria-hidden": "true" }))
  for (const station of header.stations) drawStation(map, m, station, (number) => take(element, m, number))
  set(map, { onkeydown: (/** @type {KeyboardEvent} */ event) => keys(element, m, event) })
  choose(element, m, m.chosen)
  onWidth(map, () => draw(map, lines, m))
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const map = element.querySelector(".ntcm-map")
  if (map) forgetWidth(/** @type {HTMLElement} */ (map))
}

/**
 * @param {Memory} m
 * @returns {Idea[]}
 */
function ideasOf(m) {
  return m.header.stations.flatMap((/** @type {any} */ station) => station.ideas)
}

/**
 * @param {Element} place
 * @param {Memory} m
 */
function progress(place, m) {
  const all = ideasOf(m)
  const seen = all.filter((idea) => isSeen(idea, m.seen)).length
  const { labels } = m.header
  const words = fill(seen === all.length ? labels.progress_all : labels.progress, { seen, all: all.length })
  part(place, "words", () => h("p", { role: "status" })).textContent = words
  const bar = part(place, "bar", () => h("div", { class: "ntcm-bar", "aria-hidden": "true" }, h("span", {})))
  set(/** @type {Element} */ (bar.firstElementChild), { style: { width: `${(100 * seen) / all.length}%` } })
}

/**
 * @param {Element} map
 * @param {Memory} m
 * @param {{ name: string, ideas: Idea[] }} station
 * @param {(number: number) => void} onTake
 */
function drawStation(map, m, station, onTake) {
  const { labels } = m.header
  const group = part(map, station.name, () => h("section", { class: `ntcm-station ${station.name}` }))
  part(group, "title", () => h("h2", {})).textContent = labels[`station_${station.name}`]
  const list = part(group, "list", () => h("ol", {}))
  for (const idea of station.ideas) {
    const item = part(list, String(idea.number), () => h("li", {}))
    const seen = isSeen(idea, m.seen)
    const button = part(item, "button", () => h("button", { type: "button", class: "ntcm-idea", "data-idea": idea.number }))
    button.classList.toggle("seen", seen)
    part(button, "name", () => h("span", { class: "ntcm-name" })).textContent = idea.name
    part(button, "mark", () => h("span", { class: "ntcm-mark", "aria-hidden": "true" })).textContent = seen ? "✓" : ""
    part(button, "seen", () => h("span", { class: "nt-sr" })).textContent = seen ? labels.seen : ""
    set(button, { onclick: () => onTake(idea.number) })
  }
}

/**
 * The learner chose an idea; on a phone what it says is shown from then on.
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {number} number
 */
function take(element, m, number) {
  m.touched = true
  choose(element, m, number)
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {number} number
 */
function choose(element, m, number) {
  m.chosen = number
  element.firstElementChild?.classList.toggle("untouched", !m.touched)
  const idea = ideasOf(m).find((other) => other.number === number)
  if (!idea) return
  for (const button of element.querySelectorAll(".ntcm-idea")) {
    const other = Number(/** @type {HTMLElement} */ (button).dataset.idea)
    set(button, { "aria-pressed": String(other === number) })
    button.classList.toggle("before", idea.needs.includes(other))
    button.classList.toggle("after", idea.leads.includes(other))
  }
  for (const line of element.querySelectorAll(".ntcm-lines path")) {
    const { from, to } = /** @type {SVGElement} */ (line).dataset
    line.classList.toggle("before", Number(to) === number)
    line.classList.toggle("after", Number(from) === number)
  }
  detail(part(/** @type {Element} */ (element.firstElementChild), "detail", () => h("div", { class: "ntcm-detail", "aria-live": "polite" })), element, m, idea)
}

/**
 * @param {Element} place
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {Idea} idea
 */
function detail(place, element, m, idea) {
  const { labels } = m.header
  const names = new Map(ideasOf(m).map((other) => [other.number, other.name]))
  const links = (/** @type {number[]} */ numbers) => numbers.map((number) => h("button", {
    type: "button", class: "ntcm-jump", onclick: () => go(element, m, number),
  }, names.get(number) ?? ""))
  const page = idea.page
  const seeIt = page && h("a", {
    class: "nt-button primary", href: page[2],
    onclick: (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      m.emit("open", page[0])
    },
  }, fill(labels.open, { page: page[1] }))
  place.replaceChildren(
    h("div", { class: "ntcm-said" },
      h("h3", {}, idea.name),
      h("p", {}, idea.sentence),
      h("p", { class: "nt-muted" }, idea.where),
      h("details", {}, h("summary", {}, labels.sources), h("ul", {}, ...idea.sources.map((source) => h("li", {}, source)))),
    ),
    h("div", { class: "ntcm-ways" },
      h("p", {}, `${labels.needs}: `, ...(idea.needs.length ? links(idea.needs) : [labels.none])),
      h("p", {}, `${labels.leads}: `, ...(idea.leads.length ? links(idea.leads) : [labels.none])),
      seeIt || null,
    ),
  )
}

/**
 * Choose an idea and put the focus on it in the map.
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {number} number
 */
function go(element, m, number) {
  take(element, m, number)
  const button = /** @type {HTMLElement | null} */ (element.querySelector(`[data-idea="${number}"]`))
  button?.focus()
}

const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {KeyboardEvent} event
 */
function keys(element, m, event) {
  const step = STEPS[/** @type {keyof typeof STEPS} */ (event.key)]
  if (!step) return
  event.preventDefault()
  event.stopPropagation()
  const numbers = ideasOf(m).map((idea) => idea.number)
  go(element, m, numbers[Math.max(0, Math.min(numbers.length - 1, numbers.indexOf(m.chosen) + step))])
}

/**
 * The lines, measured anew at each width.
 * @param {HTMLElement} map
 * @param {Element} lines
 * @param {Memory} m
 */
function draw(map, lines, m) {
  lines.replaceChildren()
  if (map.clientWidth < LINES_FROM) return
  const base = map.getBoundingClientRect()
  /** @type {Map<number, Box>} */
  const boxes = new Map()
  for (const button of map.querySelectorAll(".ntcm-idea")) {
    const box = button.getBoundingClientRect()
    boxes.set(Number(/** @type {HTMLElement} */ (button).dataset.idea), {
      left: box.left - base.left, right: box.right - base.left, top: box.top - base.top, bottom: box.bottom - base.top,
    })
  }
  for (const idea of ideasOf(m)) {
    for (const before of idea.needs) {
      const [from, to] = [boxes.get(before), boxes.get(idea.number)]
      if (!from || !to) continue
      const state = idea.number === m.chosen ? "before" : before === m.chosen ? "after" : ""
      lines.append(svg("path", { d: curve(from, to), class: state, "data-from": before, "data-to": idea.number }))
    }
  }
}
