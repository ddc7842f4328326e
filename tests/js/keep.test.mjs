import assert from "node:assert/strict"
import { test } from "node:test"
import { csvOf } from "../../assets/js/lib/keep.js"

test("a figure's numbers are written one a line, with their array and their place in it", () => {
  const table = Object.assign(new Float32Array([1, 2.5, -3, 4, 5, 6]), { shape: [2, 3] })
  const row = Object.assign(new Int32Array([7, 8]), { shape: [2] })
  const arrays = Object.assign([table, row], { weights: table })
  assert.deepEqual(csvOf(arrays).split("\r\n"), [
    "array,i,j,value", "weights,0,0,1", "weights,0,1,2.5", "weights,0,2,-3", "weights,1,0,4", "weights,1,1,5",
    "weights,1,2,6", "array 1,0,,7", "array 1,1,,8", "",
  ])
})
