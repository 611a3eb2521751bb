import type { Test } from 'tap'
import type { Json } from '../../devnet/faults/fault.ts'
import { headersByHash, readWholeBlocks, type BlockLogs } from '../../indexer/sources/evm/block-reader.ts'
import { createEvmClient } from '../../indexer/sources/evm/evm-client.ts'
import { createEvmSource, type EvmSource } from '../../indexer/sources/evm/evm-source.ts'
import { ChainRules, holdTo } from '../../indexer/sources/evm/proof/chain-rules.ts'
import { watchedContracts } from '../../indexer/sources/evm/watched-contracts.ts'
import { clientSettings } from '../../indexer/sources/rpc/rpc-client.ts'
import type { RpcEndpoint } from '../../indexer/sources/rpc/rpc-endpoint.ts'
import type { ContractRole } from '../../shared/events/chain-event.ts'
import { freshWhenRefused } from './fresh-source.ts'
import { Player, startLittleChain } from '../chain/sources/little-chain.ts'
import type { Target } from './block-lies.ts'
import { recordNode, type RecordedNode } from './recorded-node.ts'

const BLOCKS = 24
const TRANSACTIONS_PER_BLOCK = 5
const RULES = { headers: true, receipts: true, transactions: true }

/** A log of ours that can be lied about, and what is true of its block. */
interface Place {
  target: Target
  number: number
  truth: BlockLogs[]
}

export interface LiarOfEvm {
  node: RecordedNode
  places: Place[]
  /** The liar, without a client, which would put it aside and ask again. */
  endpoint: RpcEndpoint
  contracts: Record<ContractRole, string>
  /** Reads a block as at the head. */
  readBlock: (hash: string) => Promise<BlockLogs[]>
  withSource: <T>(task: (source: EvmSource) => Promise<T>) => Promise<T>
}

/** Starts a chain with loans, and an endpoint that lies about it. */
export async function startLiarOfEvm(t: Pick<Test, 'teardown'>, seed: string): Promise<LiarOfEvm> {
  const chain = await startLittleChain(t, { slotsInAnEpoch: 4 })
  const player = new Player(chain, Number(seed))
  for (let block = 0; block < BLOCKS; block += 1) {
    await player.play(TRANSACTIONS_PER_BLOCK)
    await chain.mine()
  }
  const node = await recordNode(t, chain.url)
  const network = chain.network({ rpcUrls: [node.url] })
  const client = createEvmClient([node.url], network.networkId, clientSettings('evm:31337', {}, 10_000))
  t.teardown(() => client.close())
  const rules = new ChainRules()
  rules.believe(RULES)
  holdTo(rules, client.others())
  const [endpoint] = client.others()
  if (endpoint === undefined) throw new Error('no endpoint')
  const contracts = watchedContracts(network)
  const readBlock = async (hash: string): Promise<BlockLogs[]> =>
    readWholeBlocks(endpoint, await headersByHash(endpoint, [hash]), contracts, () => false)
  const withSource = freshWhenRefused(() => {
    const source = createEvmSource(network)
    source.believeRules?.(RULES)
    return source
  })
  const head = Number(await chain.rpc('eth_blockNumber'))
  const places: Place[] = []
  // The newest block has none after it, with which a range would be read.
  for (let number = 1; number < head; number += 1) {
    const { hash } = (await chain.rpc('eth_getBlockByNumber', `0x${number.toString(16)}`, false)) as {
      hash: string
    }
    const truth = await readBlock(hash)
    const receipts = (await chain.rpc('eth_getBlockReceipts', hash)) as Json[]
    for (const { logIndex, txHash } of truth[0]?.logs ?? [])
      places.push({
        target: { hash, logIndex: `0x${logIndex.toString(16)}`, txHash, receipts },
        number,
        truth,
      })
  }
  const { loans: erc20Loans, lock: erc20CollateralLock } = chain
  return { node, places, endpoint, contracts: { erc20Loans, erc20CollateralLock }, readBlock, withSource }
}
