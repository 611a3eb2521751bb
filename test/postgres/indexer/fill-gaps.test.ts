import t from 'tap'
import { raiseEpoch } from '../../../indexer/event-log/chain-position.ts'
import { getGaps } from '../../../indexer/event-log/range-evidence.store.ts'
import { fillGaps } from '../../../indexer/fill-gaps.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import type { ChainSource } from '../../../indexer/sources/chain-source.ts'
import { PermanentError } from '../../../shared/errors.ts'
import type { BlockHeader } from '../../../shared/events/chain-step.ts'
import { createLogger } from '../../../shared/log.ts'
import { testDatabase } from '../../helpers/database.ts'
import { eventually } from '../../helpers/programs.ts'

const IDENTITY = { network: 'evm:1', blockchain: 'TEST' }
const HEAD = 20

const headerAt = (number: number): BlockHeader => ({
  number,
  hash: `block ${number}`,
  parentHash: `block ${number - 1}`,
  timeS: number,
})

/** A node with final blocks and no events, which cannot read block `lost`. */
function sourceWithout(lost: number): ChainSource {
  return {
    ...{ network: IDENTITY.network, startBlock: 0, maxBlockRange: 50 },
    check: () => Promise.resolve(),
    head: () => Promise.resolve(headerAt(HEAD)),
    finalized: () => Promise.resolve(headerAt(HEAD)),
    believeFinal: () => undefined,
    finalHeader: (_, number) => Promise.resolve(headerAt(number)),
    headers: (from, to) =>
      Promise.resolve(Array.from({ length: to - from + 1 }, (_, index) => headerAt(from + index))),
    readRange: (from, to) => {
      if (from <= lost && lost <= to) return Promise.reject(new PermanentError(`block ${lost} is lost`))
      const evidence = [{ from, to, endpoint: 'a', check: 'one' as const }]
      return Promise.resolve({
        ...{ events: [], evidence, cuts: [] },
        ...{ first: headerAt(from), last: headerAt(to) },
      })
    },
    readBlocks: () => Promise.resolve({ events: [], evidence: [] }),
    headTicks: async function* () {},
    close: () => Promise.resolve(),
  }
}

void t.test('a gap that cannot be read does not keep later ones open', async (t) => {
  const { db } = await testDatabase(t)
  const epoch = await raiseEpoch(db, IDENTITY.network, 'writer', { startNumber: 0, watched: {} })
  const to = headerAt(HEAD)
  const evidence = [
    [0, 2],
    [6, 9],
    [13, HEAD],
  ].map(([from = 0, to = 0]) => ({ from, to, endpoint: 'a', check: 'one' as const }))
  const blocks = { to, headers: [], events: [], evidence }
  t.equal(
    await ingestStep(db, IDENTITY, epoch, { type: 'blocks', from: 0, after: null, ...blocks }),
    'applied',
  )
  const unreadable = { from: 3, to: 5 }
  t.same(await getGaps(db, IDENTITY.network), [unreadable, { from: 10, to: 12 }])
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const filling = fillGaps({
    watched: { ...IDENTITY, watched: {}, source: sourceWithout(4) },
    ...{ db, log: createLogger('test', 'silent'), signal: stop.signal },
  })
  await eventually('the second gap is read', async () => {
    return (await getGaps(db, IDENTITY.network)).length === 1
  })
  t.same(await getGaps(db, IDENTITY.network), [unreadable])
  stop.abort()
  await filling
})
