import type { ChainEvent, EventPlace } from '../../../shared/events/chain-event.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { EvmLog } from './decode-answer.ts'
import { decodeLog, type DecodedEvent, type DecodedLog } from './decode-log.ts'
import type { LoanState, TransactionInput } from './decode-loan.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { readLoans, readTransactions, type LoanQuery } from './loan-reader.ts'
import { STATE_AFTER } from './loan-states.ts'
import { completeEvent, lacksTerms, needsTransaction, type EventWithTerms } from './loan-terms.ts'
import type { TokenDecimals, TokenSeen } from './token-decimals.ts'
import { ownTurn } from '../../../shared/async/turns.ts'
import { loanIdOf, type WatchedContract, type WatchedContracts } from './watched-contracts.ts'

interface Found {
  log: EvmLog
  contract: WatchedContract
  place: EventPlace
  decoded: DecodedLog
  /** Shared by all events of the loan in this block; null for a log that is no event. */
  loan: LoanQuery | null
}

/** A log that is one of our events. */
interface FoundEvent extends Found {
  decoded: DecodedEvent
  loan: LoanQuery
}

export interface EventReader {
  client: RpcClient
  contracts: WatchedContracts
  decimals: TokenDecimals
}

/**
 * Returns our contracts' logs, in chain order, as events that need no further chain data. A whole list costs a few
 * batches: loans, transactions where needed, and new tokens. Logs before a contract's own `startBlock` are dropped,
 * because blocks are read from the lowest one. `blockTimes` maps block hashes to Unix seconds.
 */
export async function chainEvents(
  reader: EventReader,
  read: readonly EvmLog[],
  blockTimes: ReadonlyMap<string, number>,
): Promise<ChainEvent[]> {
  const logs = read.filter(
    ({ address, blockNumber }) => blockNumber >= (reader.contracts.get(address)?.startBlock ?? 0),
  )
  if (logs.length === 0) return []
  await ownTurn()
  const found = place(reader.contracts, logs, blockTimes)
  const events = found.filter(isEvent)
  const completed = await completeAll(reader.client, events)
  const decimals = await reader.decimals.of(events.flatMap(tokenSeen))
  return found.map((item) => {
    const { address: contract, role } = item.contract
    if (!isEvent(item)) return { contract, role, ...item.place, ...undecodable(item.decoded) }
    const complete = completed.get(item)
    if (complete === undefined) throw new Error(`${item.decoded.kind} was not completed`)
    const token = tokenOf(item.decoded)
    // Own properties come before spread ones: the other order takes many times as long on Node 20
    // (docs/performance.md).
    return {
      contract,
      role,
      loanId: loanIdOf(item.contract, item.decoded.contractLoanId),
      tokenDecimals: token === null ? null : (decimals.get(token) ?? null),
      ...item.place,
      ...complete,
    }
  })
}

/** Completes each event by the loan's state, and by its transaction when that is not enough. */
async function completeAll(
  client: RpcClient,
  events: readonly FoundEvent[],
): Promise<ReadonlyMap<Found, EventWithTerms>> {
  const loans = await loansOf(client, events)
  const completeBy = (event: FoundEvent, transaction: TransactionInput | string | null): EventWithTerms => {
    const loan = loans.get(event.loan) ?? 'fetchLoan was not asked'
    return completeEvent(event.decoded, event.contract.address, { loan, transaction })
  }
  const completed = new Map<Found, EventWithTerms>()
  const lacking: FoundEvent[] = []
  for (const event of events) {
    const complete = completeBy(event, null)
    completed.set(event, complete)
    if (needsTransaction(complete)) lacking.push(event)
  }
  const transactions = await transactionsOf(client, lacking)
  for (const event of lacking)
    completed.set(event, completeBy(event, transactions.get(event.place.txHash) ?? null))
  return completed
}

function undecodable(decoded: DecodedLog): Extract<DecodedLog, { kind: 'Undecodable' }> {
  if (decoded.kind === 'Undecodable') return decoded
  throw new Error(`${decoded.kind} is decodable`)
}

function isEvent(found: Found): found is FoundEvent {
  return found.loan !== null
}

function place(
  contracts: WatchedContracts,
  logs: readonly EvmLog[],
  blockTimes: ReadonlyMap<string, number>,
): Found[] {
  // These maps cover one block: logs come in chain order, and no transaction or query spans two blocks.
  const ordinals = new Map<string, number>()
  const loans = new Map<string, LoanQuery>()
  let block: BlockRef | undefined
  return logs.map((log) => {
    const { blockNumber, blockHash, txHash, logIndex, address } = log
    const contract = contracts.get(address)
    const blockTimeS = blockTimes.get(blockHash)
    if (contract === undefined || blockTimeS === undefined) {
      throw new Error(`log ${logIndex} of block ${blockNumber} is not one that was asked for`)
    }
    if (block?.hash !== blockHash) {
      block = { number: blockNumber, hash: blockHash }
      ordinals.clear()
      loans.clear()
    }
    const key = `${txHash}/${address}`
    const txLogIndex = ordinals.get(key) ?? 0
    ordinals.set(key, txLogIndex + 1)
    const decoded = decodeLog(contract.role, log)
    return {
      log,
      contract,
      place: { blockNumber, blockHash, blockTimeS, txHash, logIndex, txLogIndex },
      decoded,
      loan: decoded.kind === 'Undecodable' ? null : loanIn(loans, contract, decoded, block),
    }
  })
}

/** All events of a loan in one block share a query; the last event decides the expected state. */
function loanIn(
  loans: Map<string, LoanQuery>,
  contract: WatchedContract,
  { kind, contractLoanId }: DecodedEvent,
  block: BlockRef,
): LoanQuery {
  const key = `${contract.role}/${contractLoanId}`
  const known = loans.get(key)
  const { role, address } = contract
  const loan = known ?? { role, contract: address, contractLoanId, block, stateAfter: null }
  loan.stateAfter = STATE_AFTER[kind]
  if (known === undefined) loans.set(key, loan)
  return loan
}

/** Sends one call per loan and block that needs it. */
async function loansOf(
  client: RpcClient,
  events: readonly FoundEvent[],
): Promise<ReadonlyMap<LoanQuery, LoanState | string>> {
  const wanted = new Set<LoanQuery>()
  for (const { decoded, loan } of events) if (lacksTerms(decoded)) wanted.add(loan)
  if (wanted.size === 0) return new Map()
  const queries = [...wanted]
  const loans = await readLoans(client, queries)
  return new Map(queries.map((query, index) => [query, loans[index] ?? 'fetchLoan was not asked']))
}

async function transactionsOf(
  client: RpcClient,
  events: readonly FoundEvent[],
): Promise<ReadonlyMap<string, TransactionInput | string>> {
  if (events.length === 0) return new Map()
  const wanted = new Map(
    events.map(({ log: { txHash, blockHash, txIndex } }) => [txHash, { txHash, blockHash, txIndex }]),
  )
  const keys = [...wanted.keys()]
  const found = await readTransactions(client, [...wanted.values()])
  return new Map(keys.map((key, index) => [key, found[index] ?? 'the transaction was not read']))
}

function tokenOf(event: DecodedEvent): string | null {
  return 'token' in event.args ? event.args.token : null
}

function tokenSeen({ decoded, loan }: FoundEvent): TokenSeen[] {
  const token = tokenOf(decoded)
  return token === null ? [] : [{ token, block: loan.block }]
}
