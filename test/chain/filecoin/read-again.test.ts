import t, { type Test } from 'tap'
import { readAgain } from '../../../indexer/read-again.ts'
import { createFilecoinSource } from '../../../indexer/sources/filecoin/filecoin-source.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { ChainEvent } from '../../../shared/events/chain-event.ts'
import { testSeed } from '../../helpers/test-seed.ts'
import { startProxy } from '../sources/faulty-proxy.ts'
import { networkOf } from './catch-up.ts'
import { chainLines, eventLines, keyAt } from './chain-truth.ts'
import { startBusyChain } from './traffic.ts'

/** What `reindex` and `verify` read, from a node that is away when they begin. */

const seed = String(testSeed(t))
t.setTimeout(120_000)

const [FROM, FINAL] = [20, 60]

/** A node that drops its first requests, and how many it got. */
async function node(t: Test, { isAway }: { isAway: (requests: number) => boolean }) {
  const lotus = await startBusyChain(t, seed, { epochs: 70, messages: 2, finalityEpochs: 5 })
  const asked = { requests: 0 }
  const proxy = await startProxy(t, lotus.url, () => (isAway((asked.requests += 1)) ? 'drop' : null))
  const source = createFilecoinSource(networkOf(proxy))
  t.teardown(() => source.close())
  const final: BlockRef = { number: FINAL, hash: keyAt(lotus.chain, FINAL) }
  return { source, final, asked, chain: lotus.chain }
}

void t.test('a node that is away at first is tried again, and then all of it is read', async (t) => {
  const { source, final, chain, asked } = await node(t, { isAway: (requests) => requests <= 4 })
  const events: ChainEvent[] = []
  let next = FROM
  for await (const reading of readAgain(
    source,
    { from: FROM, to: FINAL, final },
    new AbortController().signal,
  )) {
    t.equal(reading.from, next, 'readings continue each other')
    next = reading.last.number + 1
    events.push(...reading.events)
  }
  t.equal(next, FINAL + 1)
  t.ok(asked.requests > 4)
  const lines = chainLines(chain, FINAL).filter((line) => Number.parseInt(line, 10) >= FROM)
  t.ok(lines.length > 0)
  t.same(eventLines(events), lines)
})

void t.test('who stops waiting for a node that is away has read nothing, and nothing failed', async (t) => {
  const { source, final } = await node(t, { isAway: () => true })
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 700)
  for await (const reading of readAgain(source, { from: FROM, to: FINAL, final }, stop.signal)) {
    t.fail(`block ${reading.from} was read`)
  }
})

void t.test('a node of another history is no node that is away: it is told at once', async (t) => {
  const { source, asked } = await node(t, { isAway: () => false })
  const other: BlockRef = { number: FINAL, hash: 'bafy2bzaceanother' }
  const reading = readAgain(source, { from: FROM, to: FINAL, final: other }, new AbortController().signal)
  await t.rejects(
    async () => {
      await reading.next()
    },
    { message: /which is final in the index: name an endpoint that has it/ },
  )
  t.ok(asked.requests < 10, `after ${asked.requests} requests`)
})
