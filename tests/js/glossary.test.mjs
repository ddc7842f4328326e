import assert from "node:assert/strict"
import test from "node:test"
import { search } from "../../assets/js/glossary.js"
import { placeNear, slugOf } from "../../assets/js/terms.js"

const entry = (slug, name, field, meaning) => ({ slug, name, field, meaning, pages: [], sources: [] })
const TERMS = [
  entry("block", "Block", "decoder layer", "Attention, then a feed-forward part."),
  entry("attention", "Attention", "softmax(QKᵀ)V", "Collects information."),
  entry("kv-cache", "KV cache", "K and V", "Keys and values are kept."),
]
const slugs = (found) => found.map((term) => term.slug)

test("an empty search shows all terms in their order", () => {
  assert.deepEqual(slugs(search(TERMS, "  ")), ["block", "attention", "kv-cache"])
})

test("a term with the word in its name stands before one that only mentions it", () => {
  assert.deepEqual(slugs(search(TERMS, "ATTENTION")), ["attention", "block"])
})

test("every word must be found, in name, field or meaning, accents aside", () => {
  assert.deepEqual(slugs(search(TERMS, "cachè kept")), ["kv-cache"])
  assert.deepEqual(slugs(search(TERMS, "cache nothing")), [])
})

test("only a link into the glossary is a term", () => {
  assert.equal(slugOf("glossary?term=kv-cache"), "kv-cache")
  assert.equal(slugOf("/base/glossary?term=key"), "key")
  for (const other of ["glossary", "https://example.org/?term=a", "glossary?term=a&x=1", "myglossary?term=a", null]) {
    assert.equal(slugOf(other), null)
  }
})

test("the box stands below its word, above where there is no room, and always inside the window", () => {
  const size = { width: 200, height: 100 }
  const view = { width: 390, height: 800 }
  assert.deepEqual(placeNear({ left: 50, top: 100, bottom: 120 }, size, view), { left: 50, top: 128 })
  assert.deepEqual(placeNear({ left: 380, top: 700, bottom: 720 }, size, view), { left: 182, top: 592 })
})
