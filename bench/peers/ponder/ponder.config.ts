import { createConfig } from 'ponder'
import { parseAbi } from 'viem'
import { setting } from './setting.ts'

const { chainId, endBlock, rpcUrls, contracts } = setting

/** Follows Ponder's documentation, with as many endpoints as the benchmark gives. */
export default createConfig({
  database: { kind: 'postgres', connectionString: process.env['DATABASE_URL'] ?? '' },
  chains: { bench: { id: chainId, rpc: rpcUrls, maxRequestsPerSecond: 1_000_000 } },
  contracts: Object.fromEntries(
    Object.entries(contracts).map(([name, { address, abi }]) => [
      name,
      { chain: 'bench', address, abi: parseAbi(abi), startBlock: 1, endBlock },
    ]),
  ),
})
