import glif from '@glif/filecoin-rpc-client'
import type { FilecoinNetwork } from '../../../shared/config/networks.ts'
import { parseLotusJson } from '../../../shared/filecoin/lotus-json.ts'
import { undiciExchange, type HttpAnswer } from '../rpc/http-exchange.ts'
import { httpTarget, underTimeLimit, type HttpPost } from '../rpc/http-post.ts'
import { RpcClient, type ClientSettings } from '../rpc/rpc-client.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { AccessRefused, BadAnswer, CallFailed, WrongChain } from '../rpc/rpc-error.ts'
import { LOTUS_LIMITS } from './answer-limits.ts'
import { classifyLotusError } from './classify-lotus-error.ts'
import { record, textOf } from './decode-json.ts'
import { decodeTipset, type ChainFacts, type Tipset } from './decode-tipset.ts'
import { leanAnswers } from './lean-answers.ts'
import { lotusCall } from './lotus-call.ts'
import { LotusRules } from './proof/lotus-rules.ts'

export interface LotusClient {
  rpc: RpcClient
  rules: LotusRules
  /** Available once any endpoint was verified, and therefore within every `rpc.read`. */
  facts(): ChainFacts
  /** True when every endpoint demands a token, or a different one. */
  isLockedOut(): boolean
}

const UNPROVEN = 'its headers do not hash to their CIDs, so nothing that this network’s nodes say is proven'

/** The endpoints of one Filecoin network, which is identified by its name and first block. */
export function createLotusClient(config: FilecoinNetwork, settings: ClientSettings): LotusClient {
  let known: ChainFacts | null = null
  const rules = new LotusRules()
  const lockedOut = new Set<RpcEndpoint>()

  async function verify(endpoint: RpcEndpoint): Promise<void> {
    try {
      const { name, ...facts } = await askFacts(endpoint)
      lockedOut.delete(endpoint)
      if ((name === 'mainnet') !== (config.networkId === 'mainnet')) {
        throw new WrongChain(`network ${name}, expected ${config.networkId}`, name)
      }
      if (known !== null && known.genesisKey !== facts.genesisKey) {
        const found = `with the first block ${facts.genesisKey}`
        throw new WrongChain(`${name} ${found}, expected ${known.genesisKey}`, found)
      }
      if (facts.areHeadersHashed) rules.held('headers')
      const isRule = rules.known.headers === true
      if (isRule && !facts.areHeadersHashed)
        throw new BadAnswer('its headers do not hash to their CIDs, and others of this chain do')
      if (!isRule && known === null) settings.report('warn', `${endpoint.label}: ${UNPROVEN}`)
      known = { ...(known ?? facts), areHeadersHashed: isRule }
    } catch (error) {
      if (isLockedOut(error)) lockedOut.add(endpoint)
      throw error
    }
  }

  const rpc = new RpcClient(config.rpcUrls, {
    ...settings,
    classify: classifyLotusError,
    parse: parseAnswer,
    limits: LOTUS_LIMITS,
    connect: (url) => glifPost(url, config.token),
    secret: config.token,
    identity: { what: 'network', expected: config.networkId },
    verify,
  })
  return {
    rpc,
    rules,
    isLockedOut: () => lockedOut.size === config.rpcUrls.length,
    facts: () => {
      if (known === null) throw new BadAnswer('no endpoint was verified')
      return known
    },
  }
}

/** Same as {@link parseLotusJson}, without fields that no decoder reads. */
export function parseAnswer(text: string): unknown {
  return leanAnswers(parseLotusJson(text))
}

function isLockedOut(error: unknown): boolean {
  return (
    error instanceof AccessRefused ||
    (error instanceof CallFailed && error.message.includes('missing permission'))
  )
}

async function askFacts(endpoint: RpcEndpoint): Promise<ChainFacts & { name: string }> {
  const methods = ['StateNetworkName', 'ChainGetGenesis', 'ChainHead', 'Version'] as const
  const answers = await endpoint.send(methods.map((method) => lotusCall(method)))
  const [name, genesis, head, version] = methods.map((method, index) =>
    endpoint.resultOf(method, answers[index]),
  )
  const [first, newest] = [decodeTipset(genesis), decodeTipset(head)]
  if (first.height !== 0) throw new BadAnswer(`its first tipset has the height ${first.height}`)
  return {
    name: textOf(name, 'network name'),
    genesisKey: first.key,
    genesisTimeS: first.timeS,
    epochDurationS: epochDuration(first, newest, record(version, 'version')['BlockDelay']),
    areHeadersHashed: areHashed(first, newest),
  }
}

/** A chain whose headers do not hash to their CIDs shows it in all of them. */
function areHashed(first: Tipset, head: Tipset): boolean {
  const [isFirst, isHead] = [first.commitments !== null, head.commitments !== null]
  if (isFirst === isHead) return isFirst
  throw new BadAnswer(`the headers of ${isFirst ? 'its head' : 'its first tipset'} do not hash to their CIDs`)
}

/** Seconds per epoch, computed from two tipsets; while there is only one, the node's own figure counts. */
function epochDuration(first: Tipset, head: Tipset, blockDelay: unknown): number {
  const durationS = head.height === 0 ? Number(blockDelay) : (head.timeS - first.timeS) / head.height
  if (Number.isInteger(durationS) && durationS > 0) return durationS
  throw new BadAnswer('it does not say how long an epoch is')
}

/**
 * Posts through the Filecoin client library, which knows the token's header and the address. The library sends one call
 * at a time, drops error codes, treats HTTP 500 as no answer and reads bodies of any size. This shim therefore replaces
 * body and batching, and uses the transport of all endpoints.
 */
export function glifPost(rpcUrl: string, token: string | null): HttpPost {
  const { url: apiAddress, headers } = httpTarget(rpcUrl)
  return (body, { timeoutMs, controller, controller: { signal }, room }) =>
    underTimeLimit(timeoutMs, controller, () => {
      const engine = new glif.default({
        apiAddress,
        token: token ?? '',
        axiosOpts: {
          headers,
          adapter: async (config) => {
            const own = Object.fromEntries(new Headers(config.headers.toJSON(true)))
            const result = await undiciExchange(new URL(apiAddress), own, body, { signal, room })
            return { data: { result }, status: 200, statusText: '', headers: {}, config }
          },
        },
      })
      return engine.request<HttpAnswer>('')
    })
}
