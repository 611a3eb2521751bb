import fc from 'fast-check'
import t from 'tap'
import {
  checkHashes,
  checkTime,
  decodeTipset,
  denseHeaders,
  isNullRound,
  type ChainFacts,
  type Tipset,
} from '../../../../indexer/sources/filecoin/decode-tipset.ts'
import { BadAnswer } from '../../../../indexer/sources/rpc/rpc-error.ts'
import { headerVectors } from '../../../helpers/proof-vectors.ts'

const FACTS: ChainFacts = {
  genesisKey: 'first',
  genesisTimeS: 1_000,
  epochDurationS: 30,
  areHeadersHashed: false,
}
const cid = (name: string): unknown => ({ '/': `bafy2bza${name}` })
const block = (changes: object = {}): unknown => ({
  Parents: [cid('p1'), cid('p2')],
  Height: 7,
  Timestamp: 1_210,
  ...changes,
})
const tipset = (changes: object = {}): unknown => ({
  Cids: [cid('a'), cid('b')],
  Blocks: [block(), block()],
  Height: 7,
  ...changes,
})

void t.test('a tipset is named by its blocks in their order', (t) => {
  t.same(decodeTipset(tipset()), {
    height: 7,
    key: 'bafy2bzaa,bafy2bzab',
    firstCid: 'bafy2bzaa',
    parentKey: 'bafy2bzap1,bafy2bzap2',
    timeS: 1_210,
    commitments: null,
  })
  t.doesNotThrow(() => checkTime(decodeTipset(tipset()), FACTS))
  const first = decodeTipset({ Cids: [cid('g')], Blocks: [block({ Height: 0, Parents: null })], Height: 0 })
  t.equal(first.parentKey, '', 'the first one has no parents')
  t.end()
})

void t.test('parts that contradict each other are not believed', (t) => {
  const bad: [string, unknown][] = [
    ['nothing', null],
    ['no CIDs', tipset({ Cids: [] })],
    ['fewer blocks than CIDs', tipset({ Blocks: [block()] })],
    ['other parents', tipset({ Blocks: [block(), block({ Parents: [cid('p2'), cid('p1')] })] })],
    ['more parents', tipset({ Blocks: [block(), block({ Parents: [cid('p1'), cid('p2'), cid('p3')] })] })],
    ['fewer parents', tipset({ Blocks: [block(), block({ Parents: [cid('p1')] })] })],
    ['no parents', tipset({ Blocks: [block(), block({ Parents: null })] })],
    ['a parent that is no CID', tipset({ Blocks: [block(), block({ Parents: [cid('p1'), 'p2'] })] })],
    ['another height', tipset({ Blocks: [block(), block({ Height: 8 })] })],
    ['another time', tipset({ Blocks: [block(), block({ Timestamp: 1_240 })] })],
    ['no height', tipset({ Height: -1 })],
    ['no CID', tipset({ Cids: [cid('a'), { '/': 'a,b' }] })],
  ]
  for (const [what, value] of bad) t.throws(() => decodeTipset(value), BadAnswer, what)
  t.throws(() => checkTime(decodeTipset(tipset()), { ...FACTS, genesisTimeS: 1_001 }), BadAnswer)
  t.end()
})

void t.test('heights are consecutive blocks, null rounds among them', (t) => {
  const gaps = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 30 })
  fc.assert(
    fc.property(gaps, fc.nat(20), fc.nat(20), (steps, skip, width) => {
      const chain: Tipset[] = []
      let height = 0
      for (const step of steps) {
        const parentKey = chain.at(-1)?.key ?? ''
        chain.push({
          height,
          key: `k${height}`,
          firstCid: `k${height}`,
          parentKey,
          timeS: 1_000 + 30 * height,
          commitments: null,
        })
        height += step
      }
      const top = chain.at(-1)?.height ?? 0
      const from = Math.min(skip, top)
      const to = Math.min(top, from + width)
      const headers = denseHeaders([...chain].reverse(), from, to, FACTS)
      if (headers.length !== to - from + 1) return false
      return headers.every((header, index) => {
        const real = chain.find((candidate) => candidate.height === header.number)
        const before = headers[index - 1]
        if (header.number !== from + index || header.timeS !== 1_000 + 30 * header.number) return false
        if (before !== undefined && header.parentHash !== before.hash) return false
        return (
          isNullRound(header) === (real === undefined) && (real === undefined || header.hash === real.key)
        )
      })
    }),
  )
  t.throws(() => denseHeaders([], 3, 4, FACTS), BadAnswer)
  t.end()
})

void t.test('headers that hash to their CIDs commit to receipts and messages', (t) => {
  const real = headerVectors().filter(({ json }) => json?.['Height'] === 37)
  t.equal(real.length, 3)
  const said = (changes: object = {}): Tipset =>
    decodeTipset({
      Cids: real.map(({ cid }) => ({ '/': cid })),
      Blocks: real.map(({ json }, index) => ({ ...json, ...(index === 1 ? changes : {}) })),
      Height: 37,
    })
  t.same(said().commitments, {
    parentReceipts: 'bafy2bzacecm4lqpxnygg7yabw4plnwaokmyrxbm2a6danjkwxdhlgosry3uua',
    messages: real.map(({ json }) => (json?.['Messages'] as { '/': string })['/']),
  })
  const strict = { ...FACTS, areHeadersHashed: true }
  t.doesNotThrow(() => checkHashes(said(), strict))
  const other = real[0]?.json?.['Messages']
  for (const changes of [
    { Messages: other },
    { ParentBaseFee: '1' },
    { Miner: 't01' },
    { BlockSig: undefined },
  ]) {
    const changed = said(changes)
    t.equal(changed.commitments, null)
    t.throws(() => checkHashes(changed, strict), BadAnswer)
    t.doesNotThrow(() => checkHashes(changed, FACTS), 'a chain without such hashes')
  }
  t.end()
})
