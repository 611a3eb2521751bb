import { raiseEpoch } from '../../indexer/event-log/chain-position.ts'
import { appendOffchain, ingestStep } from '../../indexer/ingest/ingest-step.ts'
import type { Db } from '../../shared/db/connect.ts'
import { inTransaction } from '../../shared/db/transaction.ts'
import type { ChainEvent } from '../../shared/events/chain-event.ts'
import type { RangeEvidence } from '../../shared/events/chain-step.ts'
import type { HandedInEvent } from '../../shared/events/filecoin-event.ts'
import type { TwoChains } from './two-chain-stories.ts'

export const EVM = { network: 'evm:31337', blockchain: 'DEVNET' }
export const FILECOIN = { network: 'filecoin:testnet', blockchain: 'FIL' }
export const OFFCHAIN = { network: 'offchain:testnet', blockchain: 'FIL' }

/** Writes all events of one ledger as one step. */
export async function ingestLedger(
  db: Db,
  identity: typeof EVM,
  events: ChainEvent[],
  evidence: RangeEvidence[] = [],
): Promise<void> {
  const epoch = await raiseEpoch(db, identity.network, 'writer', { startNumber: 0, watched: {} })
  const last = events.at(-1)
  if (last === undefined) return
  const to = { number: last.blockNumber, hash: last.blockHash, parentHash: '', timeS: last.blockTimeS }
  const stretch = { to, headers: [to], events, evidence }
  const outcome = await ingestStep(db, identity, epoch, { type: 'blocks', from: 0, after: null, ...stretch })
  if (outcome !== 'applied') throw new Error(`a step was ${outcome}`)
}

export async function handIn(db: Db, events: HandedInEvent[]): Promise<void> {
  await inTransaction(db, (trx) => appendOffchain(trx, OFFCHAIN, events))
}

export async function ingestStories(db: Db, chains: TwoChains): Promise<void> {
  await ingestLedger(db, EVM, chains.evm)
  await ingestLedger(db, FILECOIN, chains.filecoin)
  await handIn(db, chains.offchain)
}
