import { RLP } from '@ethereumjs/rlp'
import type { Random } from '../../devnet/evm/random.ts'
import { lyingAnswers, type Fault, type Json, type Upstream } from '../../devnet/faults/fault.ts'
import { proveCounter, proveLoans } from '../../indexer/sources/evm/prove-loans.ts'
import type { RpcClient } from '../../indexer/sources/rpc/rpc-client.ts'
import type { RpcEndpoint } from '../../indexer/sources/rpc/rpc-endpoint.ts'
import { RetryableError } from '../../shared/errors.ts'
import type { ContractRole } from '../../shared/events/chain-event.ts'
import { flipped } from './block-lies.ts'
import { startLiarOfEvm } from './evm-chain.ts'
import type { LieGroup, LieKind, Outcome } from './lie-kind.ts'

/** Makes the false answer to `eth_getProof`. */
type ChangeProof = (proof: Json, random: Random, asked: Asked) => unknown

interface Asked {
  params: unknown[]
  upstream: Upstream
}

const storageOf = (proof: Json): Json[] => proof['storageProof'] as Json[]
const nodesOf = (proof: Json): string[] => proof['proof'] as string[]

/** Changes the value in the leaf of one slot, as a liar would who cannot compute another root. */
function otherValue(proof: Json, random: Random, change: (value: bigint) => bigint): Json {
  const storage = storageOf(proof)
  const at = random.int(0, storage.length - 1)
  const slot = storage[at] ?? {}
  const value = change(BigInt(String(slot['value'])))
  const nodes = nodesOf(slot)
  const leaf = RLP.decode(Buffer.from((nodes.at(-1) ?? '0x').slice(2), 'hex')) as Uint8Array[]
  const encoded = RLP.encode(value === 0n ? new Uint8Array() : Buffer.from(evenHex(value), 'hex'))
  const changed = hexOf(RLP.encode([...leaf.slice(0, -1), encoded]))
  const other = { ...slot, value: `0x${value.toString(16)}`, proof: [...nodes.slice(0, -1), changed] }
  return { ...proof, storageProof: storage.with(at, other) }
}

const evenHex = (value: bigint): string => {
  const text = value.toString(16)
  return text.length % 2 === 0 ? text : `0${text}`
}
const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`

/** Changes one digit of one node. */
function otherDigit(nodes: string[], random: Random): string[] {
  const at = random.int(0, nodes.length - 1)
  const node = nodes[at] ?? '0x00'
  const digit = random.int(2, node.length - 1)
  return nodes.with(at, node.slice(0, digit) + (node[digit] === '0' ? '1' : '0') + node.slice(digit + 1))
}

const PROOF_LIES: Record<string, { of: 'loan' | 'counter'; change: ChangeProof }> = {
  'a counter off by one': {
    of: 'counter',
    change: (proof, random) => otherValue(proof, random, (value) => value + (random.chance(0.5) ? 1n : -1n)),
  },
  'a storage slot with another value': {
    of: 'loan',
    change: (proof, random) => otherValue(proof, random, (value) => value + BigInt(random.int(1, 1_000_000))),
  },
  'a storage slot called empty': {
    of: 'loan',
    change: (proof, random) => {
      const storage = storageOf(proof)
      const filled = storage.flatMap(({ value }, index) => (BigInt(String(value)) === 0n ? [] : [index]))
      const at = random.pick(filled)
      const nodes = nodesOf(storage[at] ?? {})
      return {
        ...proof,
        storageProof: storage.with(at, { ...storage[at], value: '0x0', proof: nodes.slice(0, -1) }),
      }
    },
  },
  'two slots in each other’s places': {
    of: 'loan',
    change: (proof, random) => {
      const storage = storageOf(proof)
      const at = random.int(1, storage.length - 1)
      return { ...proof, storageProof: storage.with(0, storage[at] ?? {}).with(at, storage[0] ?? {}) }
    },
  },
  'a node of a proof changed': {
    of: 'loan',
    change: (proof, random) => {
      if (random.chance(0.3))
        return { ...proof, accountProof: otherDigit(proof['accountProof'] as string[], random) }
      const storage = storageOf(proof)
      const at = random.int(0, storage.length - 1)
      const slot = storage[at] ?? {}
      return {
        ...proof,
        storageProof: storage.with(at, { ...slot, proof: otherDigit(nodesOf(slot), random) }),
      }
    },
  },
  'the state of an older block': {
    of: 'loan',
    change: (_proof, random, { params: [contract, slots, block], upstream }) =>
      upstream.ask('eth_getProof', contract, slots, `0x${random.int(1, Number(block) - 1).toString(16)}`),
  },
}

/** Proofs of contract storage, as `ops audit --proof` reads them. */
export const evmState: LieGroup = {
  name: 'evm-state',
  about: 'proofs of contract storage, as audit --proof reads them',
  async begin(t, seed) {
    const { node, endpoint, contracts, withSource } = await startLiarOfEvm(t, seed)
    const block = await withSource((source) => source.head())
    const counters = await withSource((source) => source.proveLoanCounters(block))
    const roles = [...counters.keys()]
    // Asks the endpoint once: a client would wait and ask it again.
    const client = { read: (_what: string, task: (of: RpcEndpoint) => unknown) => task(endpoint) }
    const asked = client as unknown as RpcClient
    const read = async (of: 'loan' | 'counter', role: ContractRole, id: string): Promise<string> => {
      const address = contracts[role]
      if (of === 'counter') return String(await proveCounter(asked, address, block))
      return JSON.stringify(await proveLoans(asked, { role, address }, [id], block))
    }
    const truths = new Map<string, string>()
    const tell = async (of: 'loan' | 'counter', random: Random, fault: Fault): Promise<Outcome> => {
      const role = random.pick(roles)
      const id = String(random.int(1, Number(counters.get(role) ?? 1n)))
      const key = `${of} ${role} ${id}`
      const truth = truths.get(key) ?? (await read(of, role, id))
      truths.set(key, truth)
      node.fault = fault
      try {
        return (await read(of, role, id)) === truth ? 'harmless' : 'accepted'
      } catch (error) {
        if (error instanceof RetryableError) return 'refused'
        throw error
      } finally {
        node.fault = () => null
      }
    }
    const proofs = Object.entries(PROOF_LIES).map(([name, { of, change }]): LieKind => ({
      name,
      shownBy: 'root of the state',
      tell: (random) =>
        tell(
          of,
          random,
          lyingAnswers(['eth_getProof'], (result, { params }, upstream) =>
            change(result as Json, random, { params, upstream }),
          ),
        ),
    }))
    const header: LieKind = {
      name: 'a header with another root of the state',
      shownBy: 'header',
      tell: (random) =>
        tell(
          'loan',
          random,
          lyingAnswers(['eth_getBlockByHash'], (result) => ({
            ...(result as Json),
            stateRoot: flipped(String((result as Json)['stateRoot'])),
          })),
        ),
    }
    return [...proofs, header]
  },
}
