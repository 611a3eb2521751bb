import { readFileSync } from 'node:fs'
import { Interface } from 'ethers'
import * as z from 'zod'

/** A compiled contract, from the artifacts committed under devnet/contracts/out. */
export interface Contract {
  interface: Interface
  /** Creation code, without constructor arguments. */
  bytecode: string
  /** Code at the contract's address after the deployment. */
  deployedBytecode: string
}

const artifactSchema = z.object({
  abi: z.array(z.record(z.string(), z.unknown())),
  bytecode: z.string(),
  deployedBytecode: z.string(),
})

function load(contractName: string): Contract {
  const file = new URL(`../contracts/out/${contractName}.json`, import.meta.url)
  const { abi, ...code } = artifactSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  return { interface: new Interface(JSON.stringify(abi)), ...code }
}

export const contracts = {
  erc20Loans: load('ERC20Loans'),
  erc20CollateralLock: load('ERC20CollateralLock'),
  batcher: load('LoanBatcher'),
  token: load('TestToken'),
  noDecimalsToken: load('NoDecimalsToken'),
  absurdDecimalsToken: load('AbsurdDecimalsToken'),
  blake2bProbe: load('Blake2bProbe'),
}
