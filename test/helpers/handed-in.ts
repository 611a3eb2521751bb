import { raiseEpoch } from '../../indexer/event-log/chain-position.ts'
import { ingestStep, type Outcome } from '../../indexer/ingest/ingest-step.ts'
import type { Db } from '../../shared/db/connect.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { CreateChannelEvent, HandedInEvent } from '../../shared/events/filecoin-event.ts'
import { formatAddress, idAddress } from '../../shared/filecoin/address.ts'
import { makeChannel } from './channel-events.ts'
import { BORROWER, CHANNEL, CHANNEL_ID, identityOf, LENDER } from './signed-vouchers.ts'

export const NETWORK = 'filecoin:testnet'
export const ROBUST = formatAddress(CHANNEL, 't')

/** A Filecoin network whose tipsets a test writes itself, through the indexer's writer. */
export interface WrittenChain {
  /** Writes the next tipset, with these events. */
  append(...events: ChainEvent[]): Promise<Outcome>
  /** Writes another branch: the last `depth` tipsets are replaced by as many, with these events in the first. */
  reorg(depth: number, ...events: ChainEvent[]): Promise<Outcome>
  /** Makes everything written so far final. */
  finalize(): Promise<Outcome>
  /** The next tipset's height. */
  readonly next: number
}

export async function writeChain(db: Db, startNumber = 1000): Promise<WrittenChain> {
  const epoch = await raiseEpoch(db, NETWORK, 'writer', { startNumber, watched: {} })
  const identity = { network: NETWORK, blockchain: 'FIL' }
  const hashes = [`genesis`]
  let branch = 0
  const header = (index: number) => ({
    number: startNumber + index - 1,
    hash: hashes[index] ?? '',
    parentHash: hashes[index - 1] ?? '',
    timeS: 1_600_000_000 + (startNumber + index) * 30,
  })
  const grow = (): number => {
    hashes.push(`tipset-${hashes.length}-${branch}`)
    return hashes.length - 1
  }
  const placed = (events: ChainEvent[], index: number): ChainEvent[] => {
    const { number, hash, timeS } = header(index)
    return events.map((event, logIndex) => ({
      ...event,
      blockNumber: number,
      blockHash: hash,
      blockTimeS: timeS,
      logIndex,
    }))
  }
  return {
    get next() {
      return startNumber + hashes.length - 1
    },
    append: (...events) => {
      const after = hashes.length === 1 ? null : header(hashes.length - 1)
      const index = grow()
      const to = header(index)
      return ingestStep(db, identity, epoch, {
        type: 'blocks',
        from: to.number,
        to,
        after: after && { number: after.number, hash: after.hash },
        headers: [to],
        events: placed(events, index),
        evidence: [],
      })
    },
    finalize: () => {
      const { number, hash } = header(hashes.length - 1)
      return ingestStep(db, identity, epoch, { type: 'finalized', block: { number, hash } })
    },
    reorg: (depth, ...events) => {
      const replaces = header(hashes.length - 1)
      hashes.length -= depth
      const ancestor = header(hashes.length - 1)
      branch += 1
      const first = grow()
      for (let i = 1; i < depth; i += 1) grow()
      const last = hashes.length - 1
      return ingestStep(db, identity, epoch, {
        type: 'reorg',
        ancestor: { number: ancestor.number, hash: ancestor.hash },
        replaces: { number: replaces.number, hash: replaces.hash },
        to: header(last),
        headers: Array.from({ length: depth }, (_, i) => header(first + i)),
        events: placed(events, first),
        evidence: [],
      })
    },
  }
}

/** The channel of the other helpers: from the borrower to the lender, with 500. */
export function creation(given: Partial<CreateChannelEvent> = {}): CreateChannelEvent {
  return makeChannel({
    height: 1000,
    cid: 'create',
    channel: ROBUST,
    channelId: formatAddress(idAddress(CHANNEL_ID), 't'),
    sender: identityOf(BORROWER),
    from: identityOf(BORROWER),
    recipient: identityOf(LENDER),
    value: '500',
    ...given,
  })
}

/** Returns the log's entries of the off-chain ledger, in order. */
export async function handedInEvents(db: Db): Promise<HandedInEvent[]> {
  const rows = await db
    .selectFrom('ledger.event_log')
    .select('body')
    .where('network', '=', 'offchain:testnet')
    .orderBy('position')
    .execute()
  return rows.flatMap(({ body }) =>
    body !== null && (body.kind === 'SignedVoucher' || body.kind === 'SignedStatement') ? [body] : [],
  )
}

export async function deadLetters(
  db: Db,
): Promise<{ queue: string; reason: string; attempts: number; payload: unknown; is_cut: boolean }[]> {
  return db
    .selectFrom('ledger.dead_letters')
    .select(['queue', 'reason', 'attempts', 'payload', 'is_cut'])
    .orderBy('id')
    .execute()
}

export async function waitingCount(db: Db): Promise<number> {
  return (await db.selectFrom('ledger.waiting_vouchers').select('id').execute()).length
}
