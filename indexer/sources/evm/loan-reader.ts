import { messageOf } from '../../../shared/errors.ts'
import type { AddressText, ContractRole, HexText, UintText } from '../../../shared/events/chain-event.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { viewAll } from './ask-all.ts'
import { decodeLoan, encodeFetchLoan, type LoanState, type TransactionInput } from './decode-loan.ts'
import { ownText } from '../rpc/foreign-text.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { parseHex, quantity } from './hex.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'

export interface LoanQuery {
  role: ContractRole
  contract: AddressText
  contractLoanId: UintText
  block: BlockRef
  /** State in which the block's own events leave the loan; null skips the comparison. */
  stateAfter: number | null
}

/**
 * Most bytes of a `fetchLoan` result that is kept. About 700 are usual, but anyone can register longer Filecoin
 * addresses.
 */
const LONGEST_LOAN = 8 * 1024
/** Most bytes of an input that are kept; a direct call has about 500. */
const LONGEST_INPUT = 8 * 1024

const NO_SUCH_LOAN = 'fetchLoan knows no such loan'
const NOTHING = 'fetchLoan answered nothing'

/**
 * Returns each loan at the end of its block, or the reason why it is unknown, in the queries' order. A node can answer
 * from another block's state: an Anvil that is mining, or a replica that is behind. An answer that contradicts the
 * block's events is asked once more, at another endpoint if possible. If no endpoint disagrees, the answer stands,
 * because a token that calls back changes the order of events.
 */
export async function readLoans(
  client: RpcClient,
  queries: readonly LoanQuery[],
): Promise<(LoanState | string)[]> {
  const asked = new Set<RpcEndpoint>()
  const loans = await fetchLoans(client, queries, asked)
  const doubted = queries.flatMap((query, index) =>
    isContradicted(query, loans[index]) ? [{ query, index }] : [],
  )
  if (doubted.length === 0) return loans
  const again = await fetchLoans(
    client,
    doubted.map(({ query }) => query),
    asked,
  )
  const contradicted: string[] = []
  for (const [at, { query, index }] of doubted.entries()) {
    const loan = again[at]
    const isBetter = typeof loan === 'object' && !isContradicted(query, loan)
    if (isBetter || (typeof loan === 'object' && typeof loans[index] === 'string')) loans[index] = loan
    if (!isBetter) contradicted.push(describe(query, loans[index]))
  }
  const [first] = contradicted
  if (first !== undefined)
    client.say(
      `${contradicted.length} answers of fetchLoan contradict the loans’ own events, the first ${first}`,
    )
  return loans
}

function isContradicted({ stateAfter }: LoanQuery, loan: LoanState | string | undefined): boolean {
  if (stateAfter === null) return false
  return typeof loan === 'object' ? loan.state !== stateAfter : loan === NO_SUCH_LOAN || loan === NOTHING
}

function describe(
  { role, contractLoanId, block, stateAfter }: LoanQuery,
  loan: LoanState | string | undefined,
): string {
  const said = typeof loan === 'object' ? `state ${loan.state}` : (loan ?? 'no answer')
  return `of loan ${contractLoanId} of ${role} at block ${block.number}: ${said} instead of state ${stateAfter ?? '?'}`
}

async function fetchLoans(
  client: RpcClient,
  queries: readonly LoanQuery[],
  asked: Set<RpcEndpoint>,
): Promise<(LoanState | string)[]> {
  const calls = queries.map(({ role, contract, contractLoanId, block }) => ({
    to: contract,
    data: encodeFetchLoan(role, contractLoanId),
    block,
    longest: LONGEST_LOAN,
  }))
  const answers = await viewAll(client, 'fetchLoan', calls, asked)
  return queries.map((query, index) => loanIn(query.role, answers[index]))
}

function loanIn(role: ContractRole, answer: RpcAnswer | undefined): LoanState | string {
  if (answer === undefined) return 'fetchLoan: no answer'
  if (!answer.ok) {
    if (answer.kind === 'revert') return 'fetchLoan reverted'
    if (answer.kind === 'pruned') return 'no endpoint has the state of the block'
    return `fetchLoan failed: ${answer.message}`
  }
  const data = parseHex(answer.result)
  if (data === null || data === '0x') return NOTHING
  try {
    return decodeLoan(role, data) ?? NO_SUCH_LOAN
  } catch {
    return `the answer of fetchLoan does not decode (${(data.length - 2) / 2} bytes)`
  }
}

export interface TransactionPlace {
  txHash: HexText
  blockHash: HexText
  txIndex: number
}

/** Endpoints that lack the method which asks by position. */
const asksByHash = new WeakSet<RpcEndpoint>()

/**
 * Returns each transaction's input, or the reason why it is unknown, in the order of `places`. The first request asks
 * by position, since nodes prune the index by hash. The second asks by hash, since some nodes lack the first method.
 * "No such transaction" may come from a replica that is behind, so it counts only once it stands; see `Refusals`.
 */
export function readTransactions(
  client: RpcClient,
  places: readonly TransactionPlace[],
): Promise<(TransactionInput | string)[]> {
  return client.read('transactions', async (endpoint) => {
    const found = await askByPosition(endpoint, places)
    const missed = places.filter((_, index) => isWorthAnother(found[index]))
    const byHash = missed.length === 0 ? [] : await askByHash(endpoint, missed)
    return found.map((first, index) => {
      const place = places[index]
      const at = place === undefined ? -1 : missed.indexOf(place)
      const second = byHash[at]
      // The first fault says more, unless its method is missing.
      const isSecond = second !== undefined && (!(second instanceof CallFailed) || asksByHash.has(endpoint))
      const item = isSecond ? second : first
      if (!(item instanceof CallFailed)) return item
      if (item.kind === 'too-large') return item.message
      client.refusals.note(place?.txHash ?? '', endpoint, messageOf(item))
      if (!client.refusals.stands(place?.txHash ?? '', client.available())) throw item
      return messageOf(item)
    })
  })
}

type Asked = TransactionInput | CallFailed

function isWorthAnother(found: Asked | undefined): boolean {
  return found instanceof CallFailed && found.kind !== 'too-large'
}

async function askByPosition(endpoint: RpcEndpoint, places: readonly TransactionPlace[]): Promise<Asked[]> {
  const method = 'eth_getTransactionByBlockHashAndIndex'
  const unsupported = new CallFailed(`${method} is not known there`, 'unsupported')
  if (asksByHash.has(endpoint)) return places.map(() => unsupported)
  const found = await ask(
    endpoint,
    places,
    places.map(({ blockHash, txIndex }) => ({ method, params: [blockHash, quantity(txIndex)] })),
  )
  if (found.some((item) => item instanceof CallFailed && item.kind === 'unsupported'))
    asksByHash.add(endpoint)
  return found
}

function askByHash(endpoint: RpcEndpoint, places: readonly TransactionPlace[]): Promise<Asked[]> {
  const calls = places.map(({ txHash }) => ({ method: 'eth_getTransactionByHash', params: [txHash] }))
  return ask(endpoint, places, calls)
}

function ask(endpoint: RpcEndpoint, places: readonly TransactionPlace[], calls: RpcCall[]): Promise<Asked[]> {
  return endpoint.sendEach(calls, (answer, index) => {
    const place = places[index]
    if (place === undefined) throw new Error('an answer that nobody asked for')
    try {
      return transactionIn(place, endpoint.resultOf('transaction', answer))
    } catch (error) {
      if (error instanceof CallFailed) return error
      throw error
    }
  })
}

/** Copies at most `bytes` bytes, so that the rest can be freed. A longer input then fails to decode. */
function ownHex(hex: HexText, bytes: number): HexText {
  return hex.length <= 2 + 2 * bytes ? hex : ownText(hex.slice(0, 2 + 2 * bytes))
}

function transactionIn(place: TransactionPlace, value: unknown): TransactionInput {
  if (value === null) throw new CallFailed('the transaction is not available', 'missing-block')
  const transaction: Record<string, unknown> = typeof value === 'object' ? { ...value } : {}
  const from = parseHex(transaction['from'], 20)
  const to = transaction['to'] === null ? null : parseHex(transaction['to'], 20)
  const input = parseHex(transaction['input'])
  if (from === null || input === null) throw new BadAnswer('transaction: malformed')
  // A replica that is behind may show the transaction in a replaced block, or in none.
  if (parseHex(transaction['blockHash'], 32) !== place.blockHash)
    throw new CallFailed('the transaction is of another block there', 'missing-block')
  if (parseHex(transaction['hash'], 32) !== place.txHash) {
    throw new BadAnswer(`the transaction at ${place.txIndex} of ${place.blockHash} is not ${place.txHash}`)
  }
  return { from, to, input: ownHex(input, LONGEST_INPUT) }
}
