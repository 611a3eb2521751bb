import { LRUCache } from 'lru-cache'
import pMap from 'p-map'
import { networkKey, type EvmNetwork } from '../../../shared/config/networks.ts'
import { messageOf, PermanentError, RetryableError } from '../../../shared/errors.ts'
import type { AddressText, ContractRole, UintText } from '../../../shared/events/chain-event.ts'
import type {
  BlockHeader,
  BlockRef,
  RangeCheck,
  RangeEvidence as Evidence,
  TimedBlock,
} from '../../../shared/events/chain-step.ts'
import { joinEvidence } from '../../../shared/events/join-evidence.ts'
import type { BlocksRead, ChainSource, RangeRead } from '../chain-source.ts'
import { checkWithin } from '../check-within.ts'
import { cutRanges } from '../cut-ranges.ts'
import {
  headersAt,
  headersByHash,
  isWorthLess,
  mayConcernUs,
  readHeaders,
  readWholeBlocks,
  type BlockLogs,
} from './block-reader.ts'
import { chainEvents, type EventReader } from './chain-events.ts'
import { ChainHead } from './chain-head.ts'
import { checkContracts } from './check-contracts.ts'
import { plainHeader, type EvmHeader, type EvmLog } from './decode-answer.ts'
import type { LoanState } from './decode-loan.ts'
import { clientSettings, type Report, type SourceOptions } from '../rpc/rpc-client.ts'
import { createEvmClient } from './evm-client.ts'
import { headTicks, type TickOptions } from '../rpc/head-ticks.ts'
import { readLoans } from './loan-reader.ts'
import { ChainRules, holdTo, type ChainRule } from './proof/chain-rules.ts'
import { proveCounter, proveLoans } from './prove-loans.ts'
import { evidenceOf, RangeEvidence } from './range-evidence.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { CallFailed } from '../rpc/rpc-error.ts'
import { TokenDecimals } from './token-decimals.ts'
import { readTokenSymbol } from './token-symbol.ts'
import { watchedContracts, type WatchedContract } from './watched-contracts.ts'

export interface EvmSourceOptions extends SourceOptions {
  /** Time after which a head that has not grown is compared with the other endpoints'; see `Laggards`. */
  stillAfterMs?: number
}

export interface LoanAsked {
  role: ContractRole
  contractLoanId: UintText
  /** State known to the index; an answer that contradicts it is asked once more. If missing, nothing is compared. */
  state?: number
}

/** Result of `fetchLoan`, or the `reason` why it is unknown. */
export type LoanAnswer = { loan: LoanState } | { loan: null; reason: string }

export interface EvmSource extends ChainSource {
  /** The configured contracts. */
  readonly contracts: readonly WatchedContract[]
  /**
   * Returns the loans at the end of `block`, in the queries' order; calls are batched. Throws a RetryableError when no
   * endpoint answers and a PermanentError for a contract that is not configured.
   */
  fetchLoanStates(queries: readonly LoanAsked[], block: BlockRef): Promise<LoanAnswer[]>
  /**
   * Like `fetchLoanStates`, but proven against the header of `block`. Throws a RetryableError when no endpoint can prove
   * them: it has no `eth_getProof` or not this state, or the chain's headers do not hash by Ethereum's rule.
   */
  proveLoanStates(queries: readonly LoanAsked[], block: BlockRef): Promise<LoanAnswer[]>
  /** Returns how many loans each configured contract ever made, proven like `proveLoanStates`. */
  proveLoanCounters(block: BlockRef): Promise<Map<ContractRole, bigint>>
  /**
   * Whether the block's header proves that the block has no log of the configured contracts: it hashes to the block's
   * hash, and its bloom excludes them. Throws a RetryableError when no endpoint gives the header.
   */
  excludesOurs(block: BlockRef): Promise<boolean>
  /** Returns a token's symbol, null if it has none that can be shown. Throws a RetryableError when no endpoint answers. */
  tokenSymbol(token: AddressText): Promise<string | null>
  fetchLoanState(role: ContractRole, contractLoanId: UintText, block: BlockRef): Promise<LoanAnswer>
}

const TIMEOUT_MS = 15_000
const BY_RECEIPTS =
  'the blooms of blocks, or the numbers of their logs, do not show which logs there are: such blocks are read by their receipts'
/**
 * Most blocks of one range that may have logs of ours. Their logs are one batch, and so are their loans, if each block
 * has few.
 */
const BLOCKS_IN_RANGE = 16
const RANGES_AT_ONCE = 4
/** Blocks below the head that an endpoint which is slightly behind has. */
const MOST_BEHIND = 16
const WEAKER =
  'no endpoint gives receipts and transactions that prove each block: some blocks are of a weaker kind than others before'
const TOO_FULL =
  'a block has more logs than its endpoints give or than are held: such blocks are read by our contracts alone, unchecked by blooms'
const ONE_ALONE =
  'one endpoint alone gives headers that hash to their hashes: they prove nothing until another one names the same block'
const UNPROVEN: Record<ChainRule, string> = {
  headers:
    "no endpoint gives a header that hashes to its hash by Ethereum's rule: nothing that endpoints say of this chain is proven",
  receipts:
    'receipts do not have the root in the header of their block: logs of this chain are not proven by receipts',
  transactions: 'transactions do not have the root in the header of their block: their hashes are not proven',
}
/** Number of headers kept in memory, so that their blooms need not be read again with their blocks. */
const MAX_REMEMBERED = 2048

/** Creates the source of one EVM network. Opens no connection before the first method is called. */
export function createEvmSource(network: EvmNetwork, options: EvmSourceOptions = {}): EvmSource {
  const key = networkKey(network)
  const settings = clientSettings(key, options, TIMEOUT_MS)
  const { report } = settings
  const client = createEvmClient(network.rpcUrls, network.networkId, settings)
  const contracts = watchedContracts(network)
  const reader: EventReader = { client, contracts, decimals: new TokenDecimals(client) }
  const startBlock = Math.min(...[...contracts.values()].map((contract) => contract.startBlock))
  const onRule = (rule: ChainRule, follows: boolean): void => {
    if (!follows) warnOnce(`${key}: ${UNPROVEN[rule]}`)
  }
  const rules = new ChainRules(onRule, startBlock)
  holdTo(rules, client.others())
  const { confirmations } = network
  const heads = new ChainHead(client, { confirmations, startBlock }, report, options.stillAfterMs)
  const evidence = new RangeEvidence(client, contracts, options.secondPatienceMs)
  /** Headers by hash; their blooms are needed again when the block is read. */
  const remembered = new LRUCache<string, EvmHeader>({ max: MAX_REMEMBERED })
  const remember = (found: readonly EvmHeader[]): void => {
    for (const header of found) remembered.set(header.hash, header)
  }
  const closing = new AbortController()

  async function readRange(from: number, to: number): Promise<RangeRead> {
    const { range, check, blocks, endpoint } = await client.read(
      `blocks ${from} to ${to}`,
      async (endpoint) => ({ ...(await evidence.read(endpoint, from, to)), endpoint: endpoint.label }),
      // A wide range that fails is read again in narrower ones. Only a single block is worth asking elsewhere.
      from < to ? { attempts: 1 } : {},
    )
    return {
      events: await chainEvents(reader, range.logs, timesOf(range.blocks)),
      evidence: evidenceOf({ from, to, endpoint, check }, blocks),
      first: plainHeader(range.first),
      last: plainHeader(range.last),
      cuts: range.blocks,
    }
  }

  /** Reads several ranges at once: the endpoint looks up one range's loans while another's logs are decoded. */
  async function readBlocks(headers: BlockHeader[]): Promise<BlocksRead> {
    const mayBeOurs = ({ hash }: BlockHeader): boolean => {
      const header = remembered.get(hash)
      return header === undefined || mayConcernUs(header, contracts)
    }
    const read = await pMap(cutRanges(headers, mayBeOurs, BLOCKS_IN_RANGE), readByHash, {
      concurrency: RANGES_AT_ONCE,
    })
    return {
      events: read.flatMap(({ events }) => events),
      evidence: read.map(({ evidence }) => evidence).reduce(joinEvidence, []),
    }
  }

  async function readByHash(headers: BlockHeader[]): Promise<BlocksRead> {
    const [first, last] = [headers[0], headers.at(-1)]
    if (first === undefined || last === undefined) return { events: [], evidence: [] }
    const what = `blocks ${first.number} to ${last.number}`
    const found = await client.read(what, async (endpoint, attempt) => {
      const blooms = await withBlooms(endpoint, headers)
      const concerned = blooms.filter((header) => mayConcernUs(header, contracts))
      const worthLess = isWorthLess(attempt, client.others(endpoint).length)
      const read = await readWholeBlocks(endpoint, concerned, contracts, worthLess)
      if (isWeaker(read) && attempt <= client.others(endpoint).length)
        throw new CallFailed('receipts or transactions that prove a block are not given', 'other')
      warnOf(read)
      return {
        endpoint: endpoint.label,
        checks: checksOf(blooms, new Map(concerned.map((header, at) => [header, read[at]?.check ?? 'one']))),
        logs: read.flatMap(({ logs }) => logs).filter((log: EvmLog) => contracts.has(log.address)),
      }
    })
    const checkOf = ({ number }: BlockHeader): Evidence[] => [
      { from: number, to: number, endpoint: found.endpoint, check: found.checks.get(number) ?? 'one' },
    ]
    return {
      events: await chainEvents(reader, found.logs, timesOf(headers)),
      evidence: headers.map(checkOf).reduce(joinEvidence, []),
    }
  }

  /** Returns all headers with their blooms. A block without a bloom would pass for one without logs. */
  async function withBlooms(endpoint: RpcEndpoint, headers: readonly BlockRef[]): Promise<EvmHeader[]> {
    const known = headers.map(({ hash }) => remembered.get(hash))
    const missing = headers.filter((_, index) => known[index] === undefined).map(({ hash }) => hash)
    const fetched = missing.length === 0 ? [] : await headersByHash(endpoint, missing)
    remember(fetched)
    const rest = fetched.values()
    return known.map((header) => {
      const found = header ?? rest.next().value
      if (found === undefined) throw new RetryableError(`${key}: a header is missing`)
      return found
    })
  }

  async function headers(from: number, to: number): Promise<BlockHeader[]> {
    const found = await client.read(`headers ${from} to ${to}`, (endpoint) => readHeaders(endpoint, from, to))
    remember(found)
    return found.map(plainHeader)
  }

  async function check(): Promise<void> {
    const head = await heads.head()
    await settleHeaders(head)
    const where = { network: key, chainId: network.networkId, head: head.number }
    await checkContracts(client, contracts, where, warnOnce)
    if (head.hasTransactions) await checkLogs(head)
    await confirmRules()
  }

  let confirming: Promise<void> | null = null
  /** Asks endpoints for the blocks by which another one showed a rule. A slow endpoint is asked once at a time. */
  function confirmRules(): Promise<void> {
    confirming ??= askShownBlocks().finally(() => {
      confirming = null
    })
    return confirming
  }

  async function askShownBlocks(): Promise<void> {
    await pMap(client.available(), async (endpoint) => {
      const numbers = rules.openFor(endpoint)
      if (numbers.length > 0) await headersAt(endpoint, numbers).catch(() => [])
    })
  }

  /**
   * Endpoints may lie about the chain's headers. One of them that gives a header which hashes settles it, if another one names
   * the same block. Where the head
   * hashes and the first block does not, a fork lies between: it is searched for.
   */
  async function settleHeaders({ number }: BlockRef): Promise<void> {
    const from = (): boolean | number | undefined => rules.known.headers
    const askAll = async (numbers: number[]): Promise<void> => {
      await pMap(client.available(), (endpoint) => headersAt(endpoint, numbers).catch(() => []))
      await confirmRules()
    }
    if (from() === undefined) await askAll([number])
    // An endpoint may be a few blocks behind.
    if (from() === undefined) await askAll([Math.max(startBlock, number - MOST_BEHIND)])
    if (typeof from() === 'number') await askAll([startBlock])
    if (from() === undefined) warnOnce(`${key}: ${rules.isShown('headers') ? ONE_ALONE : UNPROVEN.headers}`)
    let low = startBlock
    for (let high = from(); typeof high === 'number' && high - low > 1; high = from()) {
      const middle = low + Math.floor((high - low) / 2)
      await askAll([middle])
      if (from() === high) low = middle
    }
    if (typeof from() === 'number')
      warnOnce(`${key}: headers hash by Ethereum's rule from block ${from()} on: nothing is proven before it`)
  }

  /** Some chains give no way to notice a missing log. This check reports that before anything is read. */
  async function checkLogs(head: EvmHeader): Promise<void> {
    try {
      const read = await client.read('logs of the head', (endpoint, attempt) =>
        readWholeBlocks(endpoint, [head], contracts, isWorthLess(attempt, client.others(endpoint).length)),
      )
      warnOf(read)
    } catch (error) {
      if (!(error instanceof RetryableError)) throw error
      throw new RetryableError(
        `${key}: the logs of block ${head.number} cannot be read: ${messageOf(error)}`,
        {
          cause: error,
        },
      )
    }
  }

  /** On a chain whose receipts were proven before, some blocks were read in a way that proves less. */
  const isWeaker = (read: readonly BlockLogs[]): boolean =>
    rules.known.receipts === true && read.some(({ check }) => check !== 'receipts')

  function warnOf(read: readonly BlockLogs[]): void {
    if (isWeaker(read)) warnOnce(`${key}: ${WEAKER}`)
    if (read.some(({ check }) => check === 'one')) warnOnce(`${key}: ${TOO_FULL}`)
    if (read.some(({ check }) => check === 'receipt-list')) warnOnce(`${key}: ${BY_RECEIPTS}`)
  }

  const warned = new Set<string>()
  function warnOnce(message: string): void {
    if (warned.has(message)) return
    warned.add(message)
    report('warn', message)
  }

  const addresses = new Map([...contracts.values()].map(({ role, address }) => [role, address]))
  const addressOf = (role: ContractRole): AddressText => {
    const address = addresses.get(role)
    if (address === undefined) throw new PermanentError(`${key}: no ${role} is configured`)
    return address
  }

  async function proveLoanStates(queries: readonly LoanAsked[], block: BlockRef): Promise<LoanAnswer[]> {
    const answers: LoanAnswer[] = queries.map(() => ({ loan: null, reason: 'not asked' }))
    for (const role of new Set(queries.map((query) => query.role))) {
      const ofRole = queries.flatMap((query, place) => (query.role === role ? [{ ...query, place }] : []))
      const ids = ofRole.map(({ contractLoanId }) => contractLoanId)
      const loans = await proveLoans(client, { role, address: addressOf(role) }, ids, block)
      for (const [index, { place }] of ofRole.entries()) {
        const loan = loans[index] ?? 'no answer'
        answers[place] = typeof loan === 'string' ? { loan: null, reason: loan } : { loan }
      }
    }
    return answers
  }

  async function fetchLoanStates(queries: readonly LoanAsked[], block: BlockRef): Promise<LoanAnswer[]> {
    const asked = queries.map(({ role, contractLoanId, state }) => ({
      ...{ role, contract: addressOf(role), contractLoanId, block, stateAfter: state ?? null },
    }))
    const loans = await readLoans(client, asked)
    return loans.map((loan) => (typeof loan === 'string' ? { loan: null, reason: loan } : { loan }))
  }

  return {
    network: key,
    contracts: [...contracts.values()],
    startBlock,
    maxBlockRange: network.maxBlockRange,
    check: () => checkWithin(key, check(), closing.signal),
    head: async () => {
      const header = await heads.head()
      remember([header])
      void confirmRules()
      return plainHeader(header)
    },
    finalized: async () => {
      const block = await heads.finalized()
      if (block !== null) evidence.knowFinal(block.number)
      return block
    },
    believeFinal: (block) => heads.believeFinal(block),
    chainRules: () => rules.known,
    believeRules: (known) => rules.believe(known),
    finalHeader: async (final, number) => plainHeader(await heads.finalHeader(final, number)),
    headers,
    readRange,
    readBlocks,
    headTicks: (signal) => headTicks(tickOptions(network, report), signal),
    close: () => {
      closing.abort(new RetryableError(`${key}: closed`))
      client.close()
      return Promise.resolve()
    },
    proveLoanStates,
    proveLoanCounters: async (block) => {
      const counters = new Map<ContractRole, bigint>()
      for (const [role, address] of addresses) counters.set(role, await proveCounter(client, address, block))
      return counters
    },
    excludesOurs: async (block) => {
      const [header] = await client.read(`header of block ${block.number}`, (endpoint) =>
        withBlooms(endpoint, [block]),
      )
      return header !== undefined && header.roots !== null && !mayConcernUs(header, contracts)
    },
    tokenSymbol: (token) => readTokenSymbol(client, token),
    fetchLoanStates,
    fetchLoanState: async (role, contractLoanId, block) => {
      const [answer] = await fetchLoanStates([{ role, contractLoanId }], block)
      return answer ?? { loan: null, reason: 'fetchLoan was not asked' }
    },
  }
}

/** A bloom of a header that does not hash excludes nothing. */
function checksOf(
  headers: readonly EvmHeader[],
  read: ReadonlyMap<EvmHeader, RangeCheck>,
): ReadonlyMap<number, RangeCheck> {
  return new Map(
    headers.map((header) => {
      const check = read.get(header) ?? 'bloom'
      return [header.number, check === 'bloom' && header.roots === null ? 'one' : check]
    }),
  )
}

function tickOptions({ wsUrl, pollIntervalMs }: EvmNetwork, report: Report): TickOptions {
  const request = { method: 'eth_subscribe', params: ['newHeads'] }
  return { subscriptions: wsUrl === null ? [] : [{ url: wsUrl, request }], pollIntervalMs, report }
}

function timesOf(blocks: readonly TimedBlock[]): ReadonlyMap<string, number> {
  return new Map(blocks.map(({ hash, timeS }) => [hash, timeS]))
}
