import { createMPT } from '@ethereumjs/mpt'
import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import t from 'tap'
import { orderedTrieRoot } from '../../../../../indexer/sources/evm/proof/ordered-trie.ts'
import { cases } from '../../../../helpers/cases.ts'

async function rootByLibrary(values: readonly Uint8Array[]): Promise<string> {
  const trie = await createMPT()
  for (const [index, value] of values.entries()) await trie.put(RLP.encode(index), value)
  return `0x${Buffer.from(trie.root()).toString('hex')}`
}

function rootOf(values: readonly Uint8Array[]): string {
  return orderedTrieRoot(values.map((value) => Buffer.from(value).toString('hex')))
}

void t.test('the root is that of a library, for any values', async (t) => {
  // Values of less than 32 bytes stand in their parents.
  const value = fc.uint8Array({ minLength: 1, maxLength: 40 })
  const values = fc.oneof(
    fc.array(value, { maxLength: 20 }),
    fc.array(value, { minLength: 120, maxLength: 300 }),
  )
  await fc.assert(
    fc.asyncProperty(values, async (values) => {
      t.equal(rootOf(values), await rootByLibrary(values))
    }),
    { numRuns: cases(30) },
  )
})

void t.test('the root is that of a library at each width of an index', async (t) => {
  for (const count of [0, 1, 2, 16, 17, 127, 128, 129, 255, 256, 257, 1000]) {
    const values = Array.from({ length: count }, (_, index) =>
      Buffer.from(`value ${index}`.repeat(1 + (index % 9))),
    )
    t.equal(rootOf(values), await rootByLibrary(values), String(count))
  }
})
