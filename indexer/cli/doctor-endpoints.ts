import {
  filecoinNetworkKey,
  networkKey,
  type EvmNetwork,
  type FilecoinNetwork,
  type Networks,
} from '../../shared/config/networks.ts'
import { messageOf } from '../../shared/errors.ts'
import { createEvmClient } from '../sources/evm/evm-client.ts'
import { createEvmSource } from '../sources/evm/evm-source.ts'
import { createFilecoinSource } from '../sources/filecoin/filecoin-source.ts'
import { lotusCall } from '../sources/filecoin/lotus-call.ts'
import { createLotusClient } from '../sources/filecoin/lotus-client.ts'
import { clientSettings, type RpcClient } from '../sources/rpc/rpc-client.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from '../sources/rpc/rpc-endpoint.ts'
import type { ChainSource } from '../sources/chain-source.ts'
import type { Finding, Verdict } from './finding.ts'

const TIMEOUT_MS = 10_000
const BATCH = 100
/** An account that every EVM chain has. */
const ZERO = `0x${'0'.repeat(40)}`
/** The first slot of a contract's storage. */
const SLOT = `0x${'0'.repeat(64)}`
/** Lotus' init actor, which every network has from its first block on. */
const INIT_ACTOR = 'f01'

/** One endpoint alone, and how to ask what it can do. */
interface Examined {
  part: string
  source: ChainSource
  client: RpcClient
  probes: Probe[]
  /** A call that any endpoint answers, for batches. */
  cheap: RpcCall
}

/** A call, and what its answer shows. */
interface Probe {
  calls: (endpoint: RpcEndpoint) => Promise<RpcCall>
  can: string
  cannot: string
  /** The verdict where it cannot; the service works without. */
  otherwise: Verdict
  /** Lotus answers null for an empty list; all other nulls are no answer. */
  nullIsEmpty?: true
}

/** Looks at every endpoint of every network alone: chain, contracts, and what it can do. Never rejects. */
export async function examineEndpoints({ evm, filecoin }: Networks): Promise<Finding[]> {
  const all = [
    ...evm.flatMap((network) => network.rpcUrls.map((url, index) => evmEndpoint(network, url, index + 1))),
    ...filecoin.flatMap((network) =>
      network.rpcUrls.map((url, index) => lotusEndpoint(network, url, index + 1)),
    ),
  ]
  return (await Promise.all(all.map(examine))).flat()
}

async function examine({ part, source, client, probes, cheap }: Examined): Promise<Finding[]> {
  const finding = (verdict: Verdict, message: string): Finding => ({ part, verdict, message })
  try {
    await source.check()
    const head = await source.head()
    const findings = [finding('ok', `the right chain, at block ${head.number}`)]
    const rules = source.chainRules?.()
    if (typeof rules?.['headers'] === 'number')
      findings.push(finding('warning', `its headers hash to their hashes from block ${rules['headers']} on`))
    else if (rules?.['headers'] === true) findings.push(finding('ok', 'its headers hash to their hashes'))
    else if (rules !== undefined)
      findings.push(finding('warning', 'its headers hash by a rule of their own: it proves nothing'))
    await client.read(
      'what it can do',
      async (endpoint) => {
        for (const { calls, can, cannot, otherwise, nullIsEmpty = false } of probes) {
          const [answer] = await endpoint.send([await calls(endpoint)])
          if (answer?.ok === true && (answer.result !== null || nullIsEmpty))
            findings.push(finding('ok', can))
          else findings.push(finding(otherwise, `${cannot}${reasonOf(answer)}`))
        }
        await endpoint.send(Array.from({ length: BATCH }, () => cheap))
        const { batch } = endpoint.governor
        findings.push(
          batch >= BATCH
            ? finding('ok', `it takes batches of ${BATCH} calls`)
            : finding('warning', `it takes batches of ${batch} calls: reading is slower than with ${BATCH}`),
        )
      },
      { attempts: 1 },
    )
    return findings
  } catch (error) {
    return [finding('failed', messageOf(error))]
  } finally {
    client.close()
    await source.close()
  }
}

function reasonOf(answer: RpcAnswer | undefined): string {
  if (answer?.ok === true) return ' (the answer is null)'
  return answer === undefined ? '' : ` (${answer.message.slice(0, 100)})`
}

function evmEndpoint(network: EvmNetwork, url: string, place: number): Examined {
  const alone = { ...network, rpcUrls: [url], wsUrl: null }
  const key = networkKey(network)
  const source = createEvmSource(alone, { requestTimeoutMs: TIMEOUT_MS })
  const { startBlock } = source
  const start = `0x${startBlock.toString(16)}`
  const end = `0x${(startBlock + network.maxBlockRange - 1).toString(16)}`
  const contracts = [network.erc20Loans, network.erc20CollateralLock].flatMap((one) => one?.address ?? [])
  const probe = (
    method: string,
    params: unknown[],
    can: string,
    cannot: string,
    otherwise: Verdict,
  ): Probe => ({
    ...{ calls: () => Promise.resolve({ method, params }), can, cannot, otherwise },
  })
  return {
    ...{ part: `${key} endpoint ${place}`, source, cheap: { method: 'eth_chainId', params: [] } },
    client: createEvmClient(
      [url],
      network.networkId,
      clientSettings(key, { requestTimeoutMs: TIMEOUT_MS }, TIMEOUT_MS),
    ),
    probes: [
      probe(
        'eth_getBalance',
        [ZERO, start],
        `an archive: it has the state of block ${startBlock}`,
        `no archive: terms of loans made long ago stay unknown`,
        'warning',
      ),
      probe(
        'eth_getLogs',
        [{ address: contracts, fromBlock: start, toBlock: end }],
        `it takes ranges of ${network.maxBlockRange} blocks`,
        `it refuses ranges of ${network.maxBlockRange} blocks: narrower ones are asked`,
        'warning',
      ),
      probe(
        'eth_getBlockByNumber',
        ['finalized', false],
        'it says which block is final',
        'it does not say which block is final',
        'warning',
      ),
      probe(
        'eth_getBlockReceipts',
        ['latest'],
        'it gives the receipts of a block',
        'it gives no receipts of a block',
        'warning',
      ),
      probe(
        'eth_getProof',
        [contracts[0], [SLOT], 'latest'],
        'it proves the state of contracts',
        'it does not prove the state of contracts: loans are not proven by it',
        'warning',
      ),
    ],
  }
}

function lotusEndpoint(network: FilecoinNetwork, url: string, place: number): Examined {
  const alone = { ...network, rpcUrls: [url] }
  const key = filecoinNetworkKey(network)
  const atStart = async (endpoint: RpcEndpoint): Promise<RpcCall> => {
    const [tipset] = await endpoint.send([lotusCall('ChainGetTipSetByHeight', network.startEpoch, [])])
    const cids = tipset?.ok === true ? (tipset.result as { Cids?: unknown }).Cids : undefined
    return lotusCall('StateGetActor', INIT_ACTOR, cids ?? [])
  }
  const blockMessages = async (endpoint: RpcEndpoint): Promise<RpcCall> => {
    const [head] = await endpoint.send([lotusCall('ChainHead')])
    const cids = head?.ok === true ? (head.result as { Cids?: unknown[] }).Cids : undefined
    return lotusCall('ChainGetBlockMessages', cids?.[0] ?? null)
  }
  return {
    part: `${key} endpoint ${place}`,
    source: createFilecoinSource(alone, { requestTimeoutMs: TIMEOUT_MS }),
    client: createLotusClient(alone, clientSettings(key, { requestTimeoutMs: TIMEOUT_MS }, TIMEOUT_MS)).rpc,
    cheap: lotusCall('StateNetworkName'),
    probes: [
      {
        calls: atStart,
        can: `an archive: it has the state of epoch ${network.startEpoch}`,
        cannot: 'no archive: the state of old channels stays unknown',
        otherwise: 'warning',
      },
      {
        calls: () => Promise.resolve(lotusCall('PaychList')),
        can: 'it shows the vouchers of its own store',
        cannot: 'it does not show the vouchers of its own store',
        otherwise: network.readVoucherStore ? 'warning' : 'ok',
        nullIsEmpty: true,
      },
      {
        calls: () => Promise.resolve(lotusCall('F3GetLatestCertificate')),
        can: 'it has finality certificates',
        cannot: 'it has no finality certificates',
        otherwise: network.certificates == null ? 'ok' : 'warning',
      },
      {
        calls: blockMessages,
        can: 'it lists the messages of blocks',
        cannot: 'it does not list the messages of blocks: those of channels are not proven',
        otherwise: 'warning',
      },
    ],
  }
}
