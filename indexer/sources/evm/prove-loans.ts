import type { AddressText, ContractRole, UintText } from '../../../shared/events/chain-event.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { record } from './decode-answer.ts'
import type { LoanState } from './decode-loan.ts'
import { quantity } from './hex.ts'
import { headerHash } from './proof/header-hash.ts'
import {
  COUNTER,
  NO_SUCH_LOAN,
  slotsOfLoan,
  slotsOfLongBytes,
  storedLoan,
  TOO_LONG,
} from './proof/loan-storage.ts'
import { provenSlots } from './proof/state-proof.ts'

/** A slot is proven by some 8 nodes of up to 532 bytes, which hex doubles. */
const SLOTS_AT_ONCE = 128

/**
 * Returns the loans of one contract as its storage holds them at the end of `block`, in the order asked, or the reason why
 * one is not known. Each is proven against the state root in the header that hashes to the block's hash. Throws a RetryableError
 * when no endpoint can prove it.
 */
export function proveLoans(
  client: RpcClient,
  contract: { role: ContractRole; address: AddressText },
  contractLoanIds: readonly UintText[],
  block: BlockRef,
): Promise<(LoanState | string)[]> {
  const { role } = contract
  return client.read('eth_getProof', async (endpoint) => {
    const read = await storageReader(endpoint, contract.address, block)
    const slots = contractLoanIds.map((id) => slotsOfLoan(role, id))
    const heads = split(await read(slots.flat()), slots)
    const longSlots = heads.map((values, index) => slotsOfLongBytes(role, slots[index] ?? [], values))
    const longs = split(await read(longSlots.flatMap((some) => some ?? [])), longSlots)
    return heads.map((values, index) => {
      if (longSlots[index] == null) return TOO_LONG
      return storedLoan(role, values, longs[index] ?? []) ?? NO_SUCH_LOAN
    })
  })
}

/** Returns how many loans the contract ever made, proven like {@link proveLoans}. */
export function proveCounter(client: RpcClient, contract: AddressText, block: BlockRef): Promise<bigint> {
  return client.read('eth_getProof', async (endpoint) => {
    const read = await storageReader(endpoint, contract, block)
    const [counter = 0n] = await read([COUNTER])
    return counter
  })
}

async function storageReader(
  endpoint: RpcEndpoint,
  contract: AddressText,
  block: BlockRef,
): Promise<(slots: readonly string[]) => Promise<bigint[]>> {
  const answer = await endpoint.call('eth_getBlockByHash', [block.hash, false])
  if (answer === null) throw new CallFailed(`block ${block.hash} is not known`, 'missing-block')
  const header = record(answer, 'block')
  if (headerHash(header) !== block.hash)
    throw new CallFailed(
      `block ${block.number}: its header does not hash to its hash, nothing can be proven`,
      'other',
    )
  const stateRoot = header['stateRoot']
  if (typeof stateRoot !== 'string') throw new BadAnswer('a header without a state root')
  return async (slots) => {
    const values: bigint[] = []
    for (let from = 0; from < slots.length; from += SLOTS_AT_ONCE) {
      const some = slots.slice(from, from + SLOTS_AT_ONCE)
      const answer = await endpoint.call('eth_getProof', [contract, some, quantity(block.number)])
      values.push(...(await provenSlots(stateRoot, contract, some, answer)))
    }
    return values
  }
}

/** Splits values like the lists that were asked for. */
function split(values: readonly bigint[], like: readonly (readonly unknown[] | null)[]): bigint[][] {
  let from = 0
  return like.map((some) => values.slice(from, (from += some?.length ?? 0)))
}
