// @ts-check
/**
 * The reading side of `core/components/base.py`: takes one message apart, prepares the element, calls `render`.
 *
 * A component is a module `assets/js/<name>.js` with
 *   export function render(element, header, arrays, emit)
 *   export function destroy(element)            // optional: timers, observers
 *   export const styles = ["<name>.css"]        // optional: sheets of assets/css, adopted before the first render
 * `render` runs again on the same element at each change of data or theme: it must be idempotent and keep what
 * it remembers on the element (`memory` in dom.js).
 */
import { forgetFigure, frameFigure } from "./figure_row.js"
import { arrive, isLeaving } from "./leaving.js"
import { ask, showAddress } from "./line.js"
import { applyTheme } from "./theme.js"

/** @typedef {(event: string, payload?: any) => void} Emit */
/** @typedef {(Float32Array|Int32Array|Int16Array|Int8Array|Uint8Array|Uint16Array|Uint32Array) & {shape: number[]}} Tensor */
/** @typedef {{
 *   element: HTMLElement, component: any, turn: number, module: any, emit: Emit,
 *   line: import("./line.js").Line | null, at: number, answer: any, arrays: any }} Mounted */

const VIEWS = {
  float32: Float32Array, int32: Int32Array, int16: Int16Array, int8: Int8Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array,
}
const ALIGNMENT = 8

/** @type {WeakMap<Node, Mounted>} */
const mounted = new WeakMap()
/** @type {Map<string, Promise<CSSStyleSheet>>} */
const sheets = new Map()

/**
 * Take a message apart. The arrays are views on the message where its alignment allows it.
 * @param {Uint8Array} message
 * @returns {{header: any, arrays: Tensor[] & Record<string, Tensor>, line?: any, address?: any}}
 */
export function decode(message) {
  const bytes = message.byteOffset % ALIGNMENT === 0 ? message : message.slice()
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  const { header, arrays: table, line, address } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  const start = bytes.byteOffset + Math.ceil((4 + length) / ALIGNMENT) * ALIGNMENT
  const arrays = /** @type {any} */ ([])
  for (const { type, shape, offset, name } of table) {
    const View = VIEWS[/** @type {keyof typeof VIEWS} */ (type)]
    const count = shape.reduce((/** @type {number} */ all, /** @type {number} */ n) => all * n, 1)
    const tensor = Object.assign(new View(bytes.buffer, start + offset, count), { shape })
    arrays.push(tensor)
    if (name !== undefined) arrays[name] = tensor
  }
  return { header, arrays, line, address }
}

/**
 * Show a component, or show it anew. Called by the inline loader at each change of data or theme.
 * @param {string} name
 * @param {string} root address of the versioned assets folder, with a slash at its end
 * @param {any} component what Streamlit hands to a component
 */
export async function mount(name, root, component) {
  const host = component.parentElement
  const record = mounted.get(host) ?? open(host)
  record.component = component
  const turn = ++record.turn
  const [module] = await Promise.all([
    import(`${root}js/${name}.js`),
    adopt(host, `${root}css/tokens.css`),
    adopt(host, `${root}css/component.css`),
  ])
  if (turn !== record.turn) return // a newer message came while the module was being fetched
  if (record.module !== module) {
    record.module = module
    await Promise.all((module.styles ?? []).map((/** @type {string} */ file) => adopt(host, `${root}css/${file}`)))
    if (turn !== record.turn) return
  }
  applyTheme(record.element, host)
  draw(record, newest(record, decode(component.data)))
  frameFigure(name, record.element, host, () => record.arrays)
}

/**
 * Streamlit hands over its last message again when the theme changes; an answer on the line may be newer.
 * @param {Mounted} record
 * @param {any} message
 */
function newest(record, message) {
  if (!message.line || !record.answer || message.line.at >= record.answer.line.at) record.answer = null
  return record.answer ?? message
}

/**
 * @param {Mounted} record
 * @param {any} message
 */
function draw(record, message) {
  record.line = message.line ?? null
  record.at = message.line?.at ?? 0
  record.arrays = message.arrays
  record.module.render(record.element, message.header, message.arrays, record.emit)
}

/**
 * An event on its way to the server: on the component's line where it has one for it, else through Streamlit.
 * @param {Mounted} record
 * @param {string} event
 * @param {any} payload
 */
async function send(record, event, payload) {
  if (isLeaving()) return
  const { line } = record
  const reply = line?.event === event ? await ask(line, payload) : null
  if (!record.element.isConnected) return
  if (!reply) return void record.component.setTriggerValue(event, payload)
  const answer = decode(reply)
  if (answer.line.at < record.at) return // the page was drawn anew meanwhile, with what came of this event
  record.answer = answer
  draw(record, answer)
  showAddress(answer.address)
}

/**
 * The component has left the page.
 * @param {Node} host
 */
export function unmount(host) {
  const record = mounted.get(host)
  if (!record) return
  record.turn++
  record.module?.destroy?.(record.element)
  mounted.delete(host)
  forgetFigure(record.element)
  record.element.remove()
}

/**
 * @param {any} host
 * @returns {Mounted}
 */
function open(host) {
  arrive()
  const element = document.createElement("div")
  element.className = "nt-root"
  host.appendChild(element)
  /** @type {Mounted} */
  const record = {
    element, component: null, turn: 0, module: null, line: null, at: 0, answer: null, arrays: [],
    emit: (event, payload = true) => void send(record, event, payload),
  }
  mounted.set(host, record)
  return record
}

/**
 * One shared style sheet for all components: fetched once, adopted by each shadow root.
 * @param {Node} host
 * @param {string} address
 */
async function adopt(host, address) {
  let pending = sheets.get(address)
  if (!pending) {
    pending = fetch(address).then((reply) => reply.text()).then((text) => new CSSStyleSheet().replace(text))
    sheets.set(address, pending)
  }
  const sheet = await pending
  const scope = /** @type {Document | ShadowRoot} */ (host.getRootNode())
  if (!scope.adoptedStyleSheets.includes(sheet)) scope.adoptedStyleSheets.push(sheet)
}
