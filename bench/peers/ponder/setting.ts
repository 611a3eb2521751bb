/** The benchmark's parameters, from the variable PEER_SETTING. */
export interface Setting {
  chainId: number
  rpcUrls: string[]
  endBlock: number
  /** `loans`: the loans with their terms as well, which only the contract's `fetchLoan` gives. */
  keeps: 'records' | 'loans'
  /** Address, events and `fetchLoan` in Solidity notation, and the events' names, by contract name. */
  contracts: Record<ContractName, { address: `0x${string}`; abi: string[]; events: string[] }>
}

type ContractName = 'erc20Loans' | 'erc20CollateralLock'

export const setting = JSON.parse(process.env['PEER_SETTING'] ?? '{}') as Setting
