/** What the benchmark says by the variable PEER_SETTING. */
export interface Setting {
  chainId: number
  rpcUrls: string[]
  endBlock: number
  /** `loans`: the loans with their terms as well, which only the contract's `fetchLoan` tells. */
  keeps: 'records' | 'loans'
  /** By name: address, events and `fetchLoan` as Solidity writes them, and the events' names. */
  contracts: Record<ContractName, { address: `0x${string}`; abi: string[]; events: string[] }>
}

type ContractName = 'erc20Loans' | 'erc20CollateralLock'

export const setting = JSON.parse(process.env['PEER_SETTING'] ?? '{}') as Setting
