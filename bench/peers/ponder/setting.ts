/** What the benchmark says by the variable PEER_SETTING. */
export interface Setting {
  chainId: number
  rpcUrls: string[]
  endBlock: number
  /** By name: address, events as Solidity writes them, and the events' names. */
  contracts: Record<string, { address: `0x${string}`; abi: string[]; events: string[] }>
}

export const setting = JSON.parse(process.env['PEER_SETTING'] ?? '{}') as Setting
