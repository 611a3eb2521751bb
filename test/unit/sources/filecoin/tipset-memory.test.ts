import t from 'tap'
import type { Tipset } from '../../../../indexer/sources/filecoin/decode-tipset.ts'
import { TipsetMemory } from '../../../../indexer/sources/filecoin/tipset-memory.ts'

const tipset = (key: string, parentKey: string, height: number): Tipset => ({
  key,
  parentKey,
  height,
  firstCid: key,
  timeS: height * 30,
  commitments: null,
})
const kept = tipset('kept', 'parent', 2)
const orphan = tipset('orphan', 'parent', 2)

void t.test('the child on the walked branch rules, whichever was seen last', (t) => {
  const memory = new TipsetMemory(3)
  for (const seen of [tipset('parent', '', 1), kept, orphan]) memory.add(seen)
  t.equal(memory.childOf('parent')?.key, 'orphan')
  memory.preferAsChild(kept)
  t.equal(memory.childOf('parent')?.key, 'kept')
  memory.dropChildOf('parent')
  t.equal(memory.childOf('parent'), undefined)
  t.equal(memory.get('kept'), kept, 'the tipset itself stays')
  t.end()
})

void t.test('a child is forgotten with its tipset', (t) => {
  const memory = new TipsetMemory(2)
  memory.add(kept)
  memory.add({ ...kept })
  memory.preferAsChild(kept)
  memory.add(tipset('a', 'x', 3))
  memory.add(tipset('b', 'y', 4))
  t.equal(memory.get('kept'), undefined)
  t.equal(memory.childOf('parent'), undefined)
  memory.preferAsChild(kept)
  t.equal(memory.childOf('parent'), undefined, 'what is forgotten is no child again')
  t.end()
})
