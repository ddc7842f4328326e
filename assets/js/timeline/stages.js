// @ts-check
/** One pass taken apart: embedding, each block, the LM head and the choice, to scale. */
import { h, memory, part, set } from "../lib/dom.js"
import { fill, marked, percent } from "../generate/format.js"
import { span } from "./layout.js"

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {Float32Array & {shape: number[]}} table
 * @param {number} chosen
 */
export function renderStages(root, element, header, table, chosen) {
  const { labels, passes, tokens } = header
  const columns = table.shape[1]
  const row = Array.from(table.subarray(chosen * columns, (chosen + 1) * columns))
  const stages = split(row, passes[chosen], chosen === 0 ? header.tokenise : 0, labels)
  const total = stages.reduce((sum, stage) => sum + stage.seconds, 0)
  const title = part(root, "stages-title", () => h("h3"))
  const pass = passes[chosen]
  title.textContent = fill(chosen ? labels.stages_decode : labels.stages_prefill, {
    count: pass.end - pass.start, token: marked(tokens[pass.start]), index: chosen, total: span(total),
  })
  const bar = part(root, "stages", () => h("div", { class: "nt-stages", role: "img", tabindex: "0" }))
  const said = part(root, "stage", () => h("p", { class: "nt-readout", "aria-live": "polite" }))
  const m = memory(bar, () => ({ at: 0 }))
  m.at = Math.min(m.at, stages.length - 1)
  while (bar.children.length > stages.length) bar.lastElementChild?.remove()
  while (bar.children.length < stages.length) bar.append(h("i"))
  const say = (/** @type {number | null} */ index) => {
    stages.forEach((_, i) => bar.children[i].classList.toggle("lit", i === index))
    said.textContent = index === null ? summary(stages, total, labels) : fill(labels.stage_said, {
      stage: stages[index].name, time: span(stages[index].seconds), share: percent(stages[index].seconds / total),
    })
  }
  stages.forEach((stage, i) => set(bar.children[i], {
    class: stage.kind, style: { flexGrow: String(Math.max(stage.seconds / total, 1e-4)) },
    onpointerenter: () => say(i),
  }))
  set(bar, {
    "aria-label": labels.stages_alt,
    onpointerleave: () => say(null),
    onblur: () => say(null),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      /** @type {Record<string, number>} */
      const goals = { ArrowLeft: m.at - 1, ArrowRight: m.at + 1, Home: 0, End: stages.length - 1 }
      if (!(event.key in goals) || event.altKey || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      event.stopPropagation()
      m.at = Math.max(0, Math.min(stages.length - 1, goals[event.key]))
      say(m.at)
    },
  })
  say(null)
}

/**
 * @param {number[]} row choice, embedding, blocks, head
 * @param {any} pass
 * @param {number} tokenise
 * @param {any} labels
 */
function split(row, pass, tokenise, labels) {
  const [choose, embed, ...rest] = row
  const head = /** @type {number} */ (rest.pop())
  const layers = rest.map((seconds, layer) => ({
    kind: layer % 2 ? "layer odd" : "layer", name: fill(labels.stage_layer, { layer }), seconds,
  }))
  return [
    ...(tokenise > 0 ? [{ kind: "tokenise", name: labels.stage_tokenise, seconds: tokenise }] : []),
    { kind: "embed", name: labels.stage_embed, seconds: embed },
    ...layers,
    { kind: "head", name: labels.stage_head, seconds: head },
    ...(pass.choose === null ? [] : [{ kind: "choose", name: labels.stage_choose, seconds: choose }]),
  ]
}

/**
 * @param {{kind: string, seconds: number, name: string}[]} stages
 * @param {number} total
 * @param {any} labels
 */
function summary(stages, total, labels) {
  const layers = stages.filter((stage) => stage.kind.startsWith("layer"))
  const others = stages.filter((stage) => !stage.kind.startsWith("layer"))
  const sum = layers.reduce((all, stage) => all + stage.seconds, 0)
  const parts = others.map((stage) => fill(labels.stage_said, {
    stage: stage.name, time: span(stage.seconds), share: percent(stage.seconds / total),
  }))
  parts.splice(Math.max(1, others.findIndex((stage) => stage.kind === "head")), 0, fill(labels.stage_layers, {
    count: layers.length, time: span(sum), share: percent(sum / total),
  }))
  return parts.join(" · ")
}
