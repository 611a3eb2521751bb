import fc from 'fast-check'
import t from 'tap'
import {
  countUnread,
  planEntries,
  type LastEntry,
} from '../../../../indexer/event-log/plan-entries.evolve.ts'
import { withKnown } from '../../../../indexer/event-log/keep-known.evolve.ts'
import type { ChainEvent } from '../../../../shared/events/chain-event.ts'
import { naturalKey, subjectOf } from '../../../../shared/events/natural-key.ts'
import { identity, settleChannel } from '../../../helpers/channel-events.ts'
import { RandomChain } from '../../../helpers/random-chain.ts'
import { cases } from '../../../helpers/cases.ts'

const NETWORK = { network: 'evm:1', blockchain: 'TEST' }

function held(event: ChainEvent, revision = 1): LastEntry & { event: ChainEvent } {
  const { kind, blockNumber, blockHash, logIndex } = event
  const subject = subjectOf(event, NETWORK.network)
  const place = { kind, blockNumber, blockHash, logIndex }
  return { op: 'append', naturalKey: naturalKey(event), revision, origin: 7, subject, ...place, event }
}

/** What the log holds after the planned entries. */
function applyPlan(
  live: (LastEntry & { event: ChainEvent })[],
  events: ChainEvent[],
): Map<string, ChainEvent> {
  const left = new Map(live.map((entry) => [entry.naturalKey, entry.event]))
  const blocks = new Set(events.map(({ blockHash }) => blockHash))
  // As it comes from the database: what is in blocks that none of the events is in is not read.
  const read = live.map((entry) => (blocks.has(entry.blockHash) ? entry : { ...entry, event: null }))
  for (const entry of planEntries(NETWORK, read, events, 'reorg')) {
    if (entry.op === 'retract') left.delete(entry.naturalKey)
    else left.set(entry.naturalKey, entry.event)
  }
  return left
}

void t.test(
  'whatever held before, afterwards exactly the new events hold, and what is the same is left alone',
  (t) => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 8 }),
        (seed, depth, length) => {
          const chain = new RandomChain(seed)
          chain.grow(10)
          const before = chain.events.map((event) => held(event))
          chain.reorg(depth, length)
          const left = applyPlan(before, chain.events)
          t.strictSame([...left.keys()].sort(), chain.events.map(naturalKey).sort())
          for (const event of chain.events) t.strictSame(left.get(naturalKey(event)), event)
          const again = chain.events.map((event) => held(event))
          t.strictSame(planEntries(NETWORK, again, chain.events, 'reorg'), [], 'nothing to do')
          const reordered = again.map((entry) => ({ ...entry, event: reverseKeys(entry.event) }))
          t.strictSame(
            planEntries(NETWORK, reordered, chain.events, 'reorg'),
            [],
            'whatever the order of keys',
          )
        },
      ),
      { numRuns: cases(50) },
    )
    t.end()
  },
)

void t.test(
  'retractions come first, newest first; a kept event counts its revision and names the loan it left',
  (t) => {
    const chain = new RandomChain(42)
    chain.grow(20)
    const [first, second, third] = chain.events.filter((event) => event.kind === 'CreateLoanOffer')
    if (first === undefined || second === undefined || third === undefined)
      throw new Error('the seed makes three offers')
    // Whatever else stands in an entry that held.
    const wider = { cause: 'reindex', previousSubject: 'ERC20FIL/7', network: 'evm:9' }
    const live = [first, second].map((event) => ({ ...wider, ...held(event, 4) }))
    const moved: ChainEvent = { ...first, loanId: '99', contractLoanId: '99' }
    const [retract, replace, append, ...more] = planEntries(NETWORK, live, [moved, third], 'reorg')
    t.match(retract, {
      op: 'retract',
      naturalKey: naturalKey(second),
      revision: 5,
      cause: 'reorg',
      previousSubject: null,
      event: null,
      ...NETWORK,
    })
    t.equal(retract?.origin, 7, 'the entry that appended it')
    t.equal(replace?.origin, 7)
    t.match(replace, { op: 'replace', naturalKey: naturalKey(first), revision: 5, subject: 'ERC20FIL/99' })
    t.equal(replace?.previousSubject, `ERC20FIL/${first.loanId}`)
    t.match(append, { op: 'append', naturalKey: naturalKey(third), cause: null })
    t.same(more, [])
    const unread = [{ ...held(first), event: null }]
    const gone: LastEntry[] = [{ ...held(first, 3), op: 'retract', event: null }]
    const [back, ...rest] = planEntries(NETWORK, gone, [first], null)
    t.match(back, { op: 'append', revision: 4, origin: null, event: first }, 'what comes again is appended')
    t.same(rest, [])
    t.throws(() => planEntries(NETWORK, unread, [first], 'reindex'), /was not read/)
    t.end()
  },
)

const NO_TERMS = { secretHashB1: null, filLender: null, interest: null, loanExpirationPeriod: null }

void t.test('a second reading does not forget what no node says any more', (t) => {
  const chain = new RandomChain(42)
  chain.grow(20)
  const offer = chain.events.find((event) => event.kind === 'CreateLoanOffer')
  if (offer === undefined) throw new Error('the seed makes an offer')
  const known: ChainEvent = {
    ...offer,
    terms: { values: { ...NO_TERMS, secretHashB1: '0x01' }, unknown: { filLender: 'not said' } },
    tokenDecimals: 6,
  }
  const pruned = {
    ...offer,
    terms: {
      values: NO_TERMS,
      unknown: { secretHashB1: 'no state', filLender: 'no state' },
    },
    tokenDecimals: null,
  } as ChainEvent
  const merged = {
    ...known,
    terms: { values: { ...NO_TERMS, secretHashB1: '0x01' }, unknown: { filLender: 'no state' } },
  }
  t.match(planEntries(NETWORK, [held(known)], [pruned], 'reindex'), [{ op: 'replace', event: merged }])
  t.strictSame(planEntries(NETWORK, [held(merged as ChainEvent)], [pruned], 'reindex'), [], 'nothing differs')
  t.equal(countUnread([held(merged as ChainEvent)], [pruned]), 1, 'what was not compared is counted')
  const better = planEntries(NETWORK, [held(pruned)], [known], 'reindex')
  t.match(better, [{ op: 'replace', event: known }], 'what is known now replaces what was not')
  t.equal(countUnread([held(pruned)], [known]), 0)
  const other = planEntries(NETWORK, [held(known)], [{ ...pruned, blockHash: '0x02' }], 'reorg')
  t.strictSame(other[0]?.event, { ...pruned, blockHash: '0x02' }, 'another block is another state')
  t.end()
})

void t.test('an identity keeps the ID that was known', (t) => {
  const known = settleChannel({ height: 1, to: 't2channel', sender: identity('t1abc', 't01') })
  const read = { ...known, sender: { ...known.sender, id: null, robust: [] } }
  t.strictSame(withKnown(known, read), known)
  t.equal(withKnown(read, known), known)
  t.end()
})

function reverseKeys<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).reverse()) as T
}
