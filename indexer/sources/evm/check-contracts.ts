import { PermanentError, RetryableError } from '../../../shared/errors.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { ethCall } from './ask-all.ts'
import { parseHex } from './hex.ts'
import {
  CONTRACT_NAMES,
  CONTRACT_QUESTIONS,
  verifyContract,
  type ContractAnswers,
  type ContractVerdict,
} from './verify-contract.ts'
import type { WatchedContract, WatchedContracts } from './watched-contracts.ts'

interface Found {
  endpoint: RpcEndpoint
  verdict: ContractVerdict
}

/**
 * Checks the configured contracts at the head, so that no archive node is needed. Throws a PermanentError naming the
 * address when every available endpoint finds another contract there. Throws a RetryableError while the head is below
 * `startBlock`. `warn` receives what cannot be decided.
 */
export async function checkContracts(
  client: RpcClient,
  contracts: WatchedContracts,
  { network, chainId, head }: { network: string; chainId: string; head: number },
  warn: (message: string) => void,
): Promise<void> {
  for (const contract of contracts.values()) {
    const { role, address, startBlock } = contract
    const verdict = await verdictOn(client, contract)
    if (verdict.is === 'right') continue
    if (head < startBlock)
      throw new RetryableError(
        `${network}: the node’s head is block ${head}, before startBlock ${startBlock} of ${role}: waiting for it`,
      )
    const place =
      verdict.looks === NO_CODE
        ? `no code at ${address} (${role}) on chain ${chainId} at block ${head}: an account’s address, or another chain’s?`
        : `${role}.address ${address} ${verdict.looks}`
    if (verdict.is === 'wrong') throw new PermanentError(`${network}: ${place}`)
    warn(`${network}: ${place}; it is taken for an ${CONTRACT_NAMES[role]} all the same`)
  }
}

const NO_CODE = 'has no code'

/** An endpoint that alone finds another contract is behind, so it is put aside. */
async function verdictOn(client: RpcClient, contract: WatchedContract): Promise<ContractVerdict> {
  const against: Found[] = []
  const others = (): RpcEndpoint[] =>
    client.available().filter((endpoint) => !against.some((found) => found.endpoint === endpoint))
  while (against.length === 0 || others().length > 0) {
    try {
      const found = await client.read('contract code', (endpoint) => look(endpoint, contract), {
        excluding: against.map(({ endpoint }) => endpoint),
      })
      if (found.verdict.is !== 'right') {
        against.push(found)
        continue
      }
      for (const { endpoint, verdict } of against)
        if (verdict.is === 'wrong') client.distrust(endpoint, told(contract, verdict.looks))
      return found.verdict
    } catch (error) {
      // The endpoints that might disagree are gone: put aside, or of another chain.
      const alone = against.length > 0 && others().length === 0
      if (!(error instanceof RetryableError) || !alone) throw error
    }
  }
  const unsure = against.find(({ verdict }) => verdict.is === 'unsure')
  return (unsure ?? against[0])?.verdict ?? { is: 'unsure', looks: 'could not be asked for' }
}

function told({ address }: WatchedContract, looks: string): string {
  return looks === NO_CODE ? `no code at ${address}` : `${address} ${looks}`
}

async function look(endpoint: RpcEndpoint, { role, address }: WatchedContract): Promise<Found> {
  const code = parseHex(await endpoint.call('eth_getCode', [address, 'latest']))
  if (code === null) throw new BadAnswer('eth_getCode: malformed answer')
  const answers: ContractAnswers['answers'] =
    code === '0x'
      ? []
      : await endpoint.send(CONTRACT_QUESTIONS.map((data) => ethCall(address, data, 'latest')))
  return { endpoint, verdict: verifyContract(role, { code, answers }) }
}
