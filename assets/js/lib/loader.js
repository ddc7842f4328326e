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
import { applyTheme } from "./theme.js"

/** @typedef {(event: string, payload?: any) => void} Emit */
/** @typedef {(Float32Array|Int32Array|Int16Array|Int8Array|Uint8Array|Uint16Array|Uint32Array) & {shape: number[]}} Tensor */
/** @typedef {{
 *   element: HTMLElement, component: any, turn: number, module: any, emit: Emit }} Mounted */

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
 * @returns {{header: any, arrays: Tensor[] & Record<string, Tensor>}}
 */
export function decode(message) {
  const bytes = message.byteOffset % ALIGNMENT === 0 ? message : message.slice()
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const length = view.getUint32(0, true)
  const { header, arrays: table } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  const start = bytes.byteOffset + Math.ceil((4 + length) / ALIGNMENT) * ALIGNMENT
  const arrays = /** @type {any} */ ([])
  for (const { type, shape, offset, name } of table) {
    const View = VIEWS[/** @type {keyof typeof VIEWS} */ (type)]
    const count = shape.reduce((/** @type {number} */ all, /** @type {number} */ n) => all * n, 1)
    const tensor = Object.assign(new View(bytes.buffer, start + offset, count), { shape })
    arrays.push(tensor)
    if (name !== undefined) arrays[name] = tensor
  }
  return { header, arrays }
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
  const { header, arrays } = decode(component.data)
  module.render(record.element, header, arrays, record.emit)
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
  record.element.remove()
}

/**
 * @param {any} host
 * @returns {Mounted}
 */
function open(host) {
  const element = document.createElement("div")
  element.className = "nt-root"
  host.appendChild(element)
  /** @type {Mounted} */
  const record = {
    element, component: null, turn: 0, module: null,
    emit: (event, payload = true) => record.component.setTriggerValue(event, payload),
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
