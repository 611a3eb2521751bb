import { utf8ToBytes } from '@noble/hashes/utils.js'
import * as z from 'zod'
import { blake2b256 } from '../../shared/filecoin/blake2b.ts'
import { delegatedAddress, formatAddress } from '../../shared/filecoin/address.ts'
import { createKey } from '../filecoin/keys.ts'
import type { Lotus } from '../filecoin/lotus.ts'
import type { Wallet } from '../filecoin/wallet.ts'
import { RpcRefusal } from '../evm/rpc.ts'
import type { LotusRpc } from './lotus-rpc.ts'

/** All Filecoin wallets, by name. A name always has the same wallet; some are BLS wallets. */
export interface Cast {
  /** The wallet's robust address, which exists before the wallet is made. */
  address(name: string): string
  /** Its ID address, once its account is known to exist. */
  id(name: string): string | undefined
  /** Makes the wallet on first use and funds it if needed. Its messages wait for its funds. */
  wallet(name: string): Promise<Wallet>
  /** Makes these wallets and learns their ID addresses. */
  open(names: string[]): Promise<void>
}

/** attoFIL: a million FIL for frequent lenders and borrowers; other wallets get enough for one loan. */
const PLENTY = 10n ** 24n
const ENOUGH = 10n ** 22n

export function createCast({ chain }: Lotus, rpc: LotusRpc): Cast {
  const addresses = new Map<string, string>()
  const wallets = new Map<string, Promise<Wallet>>()
  const ids = new Map<string, string>()

  function address(name: string): string {
    const found = addresses.get(name) ?? walletAddress(name)
    addresses.set(name, found)
    return found
  }

  async function make(name: string): Promise<Wallet> {
    const wallet = await chain.createWallet(kindOf(name), name)
    if (wallet.address !== address(name)) throw new Error(`the wallet of ${name} has another address`)
    const wanted = name.split('/').length > 3 ? ENOUGH : PLENTY
    if ((await balanceOf(name)) < wanted / 10n) await chain.fund(wallet.address, wanted)
    return wallet
  }

  /** Undefined while there is no account. */
  const lookUp = (name: string): Promise<string | undefined> =>
    unlessRefused(rpc.call(z.string(), 'StateLookupID', address(name), null))

  /** The recipient of a channel has an account without funds. */
  async function balanceOf(name: string): Promise<bigint> {
    const actor = z.object({ Balance: z.string() })
    const found = await unlessRefused(rpc.call(actor, 'StateGetActor', address(name), null))
    return BigInt(found?.Balance ?? 0)
  }

  function wallet(name: string): Promise<Wallet> {
    const found = wallets.get(name) ?? make(name)
    wallets.set(name, found)
    return found
  }

  return {
    address,
    id: (name) => ids.get(name),
    wallet,
    async open(names) {
      for (const name of names) await wallet(name)
      // Messages are executed when the tipset after theirs is made.
      await chain.mine(3)
      for (const name of names) {
        const id = await lookUp(name)
        if (id !== undefined) ids.set(name, id)
      }
    },
  }
}

/** Returns the robust address of the wallet with this name. */
export function walletAddress(name: string): string {
  return formatAddress(createKey(kindOf(name), utf8ToBytes(name)).address, 't')
}

async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof RpcRefusal) return undefined
    throw error
  }
}

function kindOf(name: string): 'bls' | 'secp256k1' {
  return (blake2b256(utf8ToBytes(name))[0] ?? 0) % 5 === 0 ? 'bls' : 'secp256k1'
}

/**
 * Returns the Filecoin address of an EVM account (`t410f…`): contracts can name it, but no wallet here signs for it.
 */
export function delegatedAddressOf(evmAddress: string): string {
  const ethereumManager = 10n
  return formatAddress(delegatedAddress(ethereumManager, Buffer.from(evmAddress.slice(2), 'hex')), 't')
}

/** Opens the wallets that loans share and those of outsiders before the first loan. */
export async function openPool(
  cast: Cast,
  { accounts, batcher, borrowerBatcher }: { accounts: string[]; batcher: string; borrowerBatcher: string },
): Promise<void> {
  const people = accounts.slice(1)
  const half = Math.floor(people.length / 2)
  const numbered = (name: string, count: number): string[] =>
    Array.from({ length: count }, (_, number) => `${name}/${number}`)
  await cast.open([
    ...[batcher, ...people.slice(0, half)].flatMap((account) => numbered(`lender/${account}`, 2)),
    ...[borrowerBatcher, ...people.slice(half)].flatMap((account) => numbered(`borrower/${account}`, 2)),
    ...numbered('third', 3),
  ])
}
