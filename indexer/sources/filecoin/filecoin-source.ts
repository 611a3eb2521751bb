import { filecoinNetworkKey, type FilecoinNetwork } from '../../../shared/config/networks.ts'
import { PermanentError, RetryableError } from '../../../shared/errors.ts'
import type { BlockHeader, BlockRef } from '../../../shared/events/chain-step.ts'
import { networkLetter } from '../../../shared/filecoin/address.ts'
import type { BlocksRead, ChainSource, RangeRead } from '../chain-source.ts'
import { checkWithin } from '../check-within.ts'
import { headTicks, type HeadSubscription } from '../rpc/head-ticks.ts'
import { clientSettings, type SourceOptions } from '../rpc/rpc-client.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { SecondOpinion } from '../rpc/second-opinion.ts'
import {
  branchAcross,
  branchBelow,
  childOf,
  forgettingChildren,
  tipsetOf,
  walkDown,
  type BranchReader,
} from './branch-reader.ts'
import { ChannelCodes } from './channel-codes.ts'
import { readChannelState, type ChannelAnswer } from './channel-state.ts'
import { denseHeaders, isNullRound } from './decode-tipset.ts'
import { Identities } from './identity.ts'
import { lotusCall } from './lotus-call.ts'
import { createLotusClient } from './lotus-client.ts'
import { LotusHead } from './lotus-head.ts'
import { messageEvents, type EventReader } from './message-events.ts'
import { NodeVouchers, type NodeVoucher } from './node-vouchers.ts'
import { FinalityCertificates } from './proof/finality-certificates.ts'
import { MessagesProof } from './proof/messages-proof.ts'
import { ReceiptsProof } from './proof/receipts-proof.ts'
import { areProven, checkRange, evidenceOf, resultsOf, type RangeAnswer } from './range-evidence.ts'
import { TipsetMemory } from './tipset-memory.ts'
import { readExecuted, RequestSize, type ExecutedTipset, type TipsetMessages } from './tipset-messages.ts'

export interface FilecoinSource extends ChainSource {
  /** Returns the vouchers in the configured nodes' own stores; none unless reading them is configured. */
  nodeVouchers(): Promise<NodeVoucher[]>
  /**
   * Returns the channel's state at the end of that block. Throws a RetryableError when no endpoint can answer now, for
   * example because the block has left the nodes' branch.
   */
  readChannelState(robust: string, block: BlockRef): Promise<ChannelAnswer>
  readonly certificates: FinalityCertificates
  /** Returns the newest block to index that a certificate proves final; null while none does. */
  certified(): BlockRef | null
}

const TIMEOUT_MS = 30_000
/**
 * One batch, together with the tipset above them. Tipsets with their messages are large, and several ranges are read at
 * once.
 */
const MAX_RANGE = 99
const MOST_REMEMBERED = 2048
/** How long the branch seen last counts as the node's current branch. */
const VIEW_MAX_AGE_MS = 2_000

/**
 * Creates the chain source of one Filecoin network. Its blocks are heights: the block at a height is the newest tipset
 * at or below it, identified by its key. A height without a tipset (a null round) is its own parent and has no events.
 *
 * The events of a block come from the messages that its tipset includes, after execution. Only the tipset's child
 * contains the results, so the newest block is the parent of the node's head. Opens no connection before the first
 * method call.
 */
export function createFilecoinSource(network: FilecoinNetwork, options: SourceOptions = {}): FilecoinSource {
  const key = filecoinNetworkKey(network)
  const letter = networkLetter(network.networkId)
  const settings = clientSettings(key, options, TIMEOUT_MS)
  const { report } = settings
  const client = createLotusClient(network, settings)
  const memory = new TipsetMemory(MOST_REMEMBERED)
  const certificates = new FinalityCertificates(
    client.rpc,
    network.certificates ?? null,
    options.certificateRestMs,
  )
  const heads = new LotusHead(client, memory, network, report, certificates)
  const vouchers = new NodeVouchers(client, report)
  const second = new SecondOpinion(client.rpc, options.secondPatienceMs)
  const reading = {
    size: new RequestSize(),
    receiptsProof: new ReceiptsProof(client.rules),
    messagesProof: new MessagesProof(client.rules, report),
  }
  const closing = new AbortController()
  const events: EventReader = {
    client,
    letter,
    codes: new ChannelCodes(client.rpc, report),
    identities: new Identities(client.rpc, letter),
  }
  const onBranch = (endpoint: RpcEndpoint): BranchReader => ({ endpoint, memory, facts: client.facts() })

  const executedOn = (reader: BranchReader, tipsets: readonly ExecutedTipset[]): Promise<TipsetMessages[]> =>
    readExecuted({ endpoint: reader.endpoint, tipsetOf: (key) => tipsetOf(reader, key) }, tipsets, reading)

  async function headers(from: number, to: number): Promise<BlockHeader[]> {
    const { head, newest } = await heads.view(to, VIEW_MAX_AGE_MS)
    const top = Math.min(to, newest.height)
    if (top < from) return []
    return client.rpc.read(`headers ${from} to ${top}`, async (endpoint) => {
      const path = await branchBelow(onBranch(endpoint), head, from, top)
      return denseHeaders(path, from, top, client.facts())
    })
  }

  async function finalHeader(final: BlockRef, number: number): Promise<BlockHeader> {
    return client.rpc.read(`block ${number}`, async (endpoint) => {
      const reader = { ...onBranch(endpoint), memory: new TipsetMemory(MOST_REMEMBERED) }
      const top = await tipsetOf(reader, final.hash)
      // A child found by height could be above the final block. Only a walk down links the block to it; see CertifiedSource.
      const isNear = top.height - number <= MAX_RANGE
      const path = isNear
        ? await walkDown(reader, top, number)
        : await branchAcross(reader, number, number, final.hash)
      const [header] = denseHeaders(path, number, number, client.facts())
      if (header === undefined) throw new RetryableError(`${key}: no block ${number}`)
      return header
    })
  }

  async function rangeOn(endpoint: RpcEndpoint, from: number, to: number): Promise<RangeAnswer> {
    // Final blocks are read once, so a memory of their own keeps them from evicting useful tipsets.
    const reader = { ...onBranch(endpoint), memory: new TipsetMemory(MOST_REMEMBERED) }
    const path = await branchAcross(reader, from, to)
    const headers = denseHeaders(path, from, to, client.facts())
    const tipsets = headers
      .filter((header) => !isNullRound(header))
      .map((header) => withChild(header, reader))
    const first = tipsets[0] && reader.memory.get(tipsets[0].header.hash)
    return { endpoint, headers, first, tipsets: await executedOn(reader, tipsets) }
  }

  async function readRange(from: number, to: number): Promise<RangeRead> {
    const readOn = (endpoint: RpcEndpoint): Promise<RangeAnswer> => rangeOn(endpoint, from, to)
    const { answer, ...checked } = await client.rpc.read(
      `blocks ${from} to ${to}`,
      async (endpoint) => checkRange(second, await readOn(endpoint), readOn, client.facts()),
      // A wide range that fails is read again in narrower ranges; only a single block is worth asking another endpoint.
      from < to ? { attempts: 1 } : {},
    )
    const [first, last] = [answer.headers[0], answer.headers.at(-1)]
    if (first === undefined || last === undefined)
      throw new RetryableError(`${key}: no blocks ${from} to ${to}`)
    return {
      first,
      last,
      cuts: answer.tipsets.filter(({ executed }) => executed.length > 0).map(({ header }) => header),
      events: await messageEvents(events, answer.tipsets, to),
      evidence: evidenceOf({ from, to, endpoint: answer.endpoint.label }, checked, answer.tipsets),
      results: resultsOf(answer.first, answer.tipsets, checked.isProven),
    }
  }

  async function readBlocks(headers: BlockHeader[]): Promise<BlocksRead> {
    const [first, last] = [headers[0], headers.at(-1)]
    if (first === undefined || last === undefined) return { events: [], evidence: [] }
    const read = await client.rpc.read(`blocks ${first.number} to ${last.number}`, async (endpoint) => {
      const reader = onBranch(endpoint)
      const own = headers.filter((header) => !isNullRound(header))
      const tipsets: ExecutedTipset[] = []
      for (const [index, header] of own.entries()) {
        // The next of these blocks is the only child that the index will have.
        const next = own[index + 1]
        const child = await (next === undefined ? childOf(reader, header) : tipsetOf(reader, next.hash))
        tipsets.push({ header, child })
      }
      const read = (): Promise<TipsetMessages[]> => executedOn(reader, tipsets)
      return {
        endpoint: endpoint.label,
        first: own[0] && (await tipsetOf(reader, own[0].hash)),
        tipsets: await forgettingChildren(memory, headers, read),
      }
    })
    const isProven = areProven(read.tipsets, client.facts())
    const range = { from: first.number, to: last.number, endpoint: read.endpoint }
    return {
      events: await messageEvents(events, read.tipsets, heads.final?.number ?? -1),
      evidence: evidenceOf(range, { isProven, word: 'one' }, read.tipsets),
      results: resultsOf(read.first, read.tipsets, isProven),
    }
  }

  async function check(): Promise<void> {
    try {
      await client.rpc.read('head', async (endpoint) => {
        const { method, params } = lotusCall('ChainHead')
        await endpoint.call(method, params)
      })
    } catch (error) {
      if (!client.isLockedOut()) throw error
      const token = network.token === null ? 'a token, and none is configured' : 'another token'
      throw new PermanentError(`${key}: every endpoint wants ${token} (permission "read" is enough)`)
    }
  }

  async function stateOf(robust: string, block: BlockRef): Promise<ChannelAnswer> {
    const child = await client.rpc.read(`the child of block ${block.number}`, (endpoint) =>
      childOf(onBranch(endpoint), block),
    )
    return forgettingChildren(memory, [block], () =>
      readChannelState(client.rpc, letter, robust, block, child.key),
    )
  }

  return {
    network: key,
    startBlock: network.startEpoch,
    maxBlockRange: MAX_RANGE,
    check: () => checkWithin(key, check(), closing.signal),
    head: () => heads.head(),
    finalized: () => heads.finalized(),
    believeFinal: (block) => heads.believeFinal(block),
    chainRules: () => client.rules.known,
    believeRules: (known) => client.rules.believe(known),
    finalHeader,
    headers,
    readRange,
    readBlocks,
    headTicks: (signal) =>
      headTicks(
        { subscriptions: subscriptionsOf(network), pollIntervalMs: network.pollIntervalMs, report },
        signal,
      ),
    close: () => {
      closing.abort(new RetryableError(`${key}: closed`))
      client.rpc.close()
      return Promise.resolve()
    },
    nodeVouchers: () => (network.readVoucherStore ? vouchers.read() : Promise.resolve([])),
    readChannelState: stateOf,
    certificates,
    certified: () => heads.certified,
  }
}

/** Reading a range also puts its newest tipset's child into memory. */
function withChild(header: BlockHeader, { memory }: BranchReader): ExecutedTipset {
  const child = memory.childOf(header.hash)
  if (child === undefined) throw new RetryableError(`the child of block ${header.number} is not known`)
  return { header, child }
}

/** Every node serves its head notifications at its RPC address. */
function subscriptionsOf({ rpcUrls, token }: FilecoinNetwork): HeadSubscription[] {
  return rpcUrls.map((rpcUrl) => ({
    url: rpcUrl.replace(/^http/, 'ws'),
    ...(token === null ? {} : { headers: { authorization: `Bearer ${token}` } }),
    request: lotusCall('ChainNotify'),
    endsWith: 'xrpc.ch.close',
  }))
}
