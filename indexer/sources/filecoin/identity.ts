import { LRUCache } from 'lru-cache'
import type { FilecoinIdentity } from '../../../shared/events/filecoin-event.ts'
import {
  canonicalAddress,
  formatAddress,
  parseAddress,
  type NetworkLetter,
} from '../../../shared/filecoin/address.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import type { RpcAnswer } from '../rpc/rpc-endpoint.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { record } from './decode-json.ts'
import { RobustAddresses } from './robust-addresses.ts'
import { askState, type StateCall } from './state-calls.ts'

/** An address to identify in the state at the start of tipset `at`. */
export interface IdentityQuestion {
  /** The address as written, with the network's letter. */
  address: string
  /** The key of a tipset. */
  at: string
  /** True when the tipset's parents can no longer be reorganized, so that the identity no longer changes. */
  isFinal: boolean
}

type Names = Pick<FilecoinIdentity, 'id' | 'robust'>

const MOST_REMEMBERED = 20_000

/**
 * Finds every address of an actor: the ID address, and the key, actor or delegated addresses. An address stays unknown
 * if no node can answer, or if an actor address takes too long. Complete and final answers are remembered.
 */
export class Identities {
  readonly #client: RpcClient
  readonly #letter: NetworkLetter
  readonly #robust: RobustAddresses
  readonly #known: LRUCache<string, Names>

  constructor(client: RpcClient, letter: NetworkLetter, mostRemembered = MOST_REMEMBERED) {
    this.#known = new LRUCache({ max: mostRemembered })
    this.#client = client
    this.#letter = letter
    this.#robust = new RobustAddresses(client)
  }

  /**
   * Returns identities in the questions' order. `beside` are other state calls that share the request. Throws a
   * RetryableError when a node that may know does not answer.
   */
  async identify(
    questions: readonly IdentityQuestion[],
    beside: readonly StateCall[],
  ): Promise<{ identities: FilecoinIdentity[]; beside: RpcAnswer[] }> {
    const open = new Map<string, IdentityQuestion>()
    const found = new Map<string, Names>()
    for (const question of questions) {
      // Read now, because later lookups, here or in another call, may evict it.
      const known = this.#known.get(question.address)
      if (known === undefined) open.set(keyOf(question), question)
      else found.set(keyOf(question), known)
    }
    const asked = [...open.values()]
    const { names: all, others } = await this.#ask(asked, beside)
    for (const [index, names] of all.entries()) {
      const question = asked[index]
      if (question === undefined) continue
      found.set(keyOf(question), names)
      if (question.isFinal && names.id !== null && names.robust.length > 0)
        this.#known.set(question.address, names)
    }
    const identities = questions.map((question) => {
      const names = found.get(keyOf(question))
      return { asWritten: question.address, id: names?.id ?? null, robust: [...(names?.robust ?? [])] }
    })
    return { identities, beside: others }
  }

  /** Takes two rounds: IDs and keys for all addresses, then the actor addresses of those known only by ID. */
  async #ask(
    questions: readonly IdentityQuestion[],
    beside: readonly StateCall[],
  ): Promise<{ names: Names[]; others: RpcAnswer[] }> {
    const calls = questions.flatMap(firstCalls)
    const first = await askState(this.#client, 'identities', [...calls, ...beside])
    const names = questions.map(({ address }, index) =>
      this.#namesOf(address, first[2 * index], first[2 * index + 1]),
    )
    const nameless = questions.filter((_, index) => names[index]?.robust.length === 0)
    const second = await this.#robust.lookUp(nameless)
    const complete = questions.map((question, index) => {
      const known = names[index] ?? { id: null, robust: [] }
      const robust = this.#address(second[nameless.indexOf(question)])
      return known.robust.length > 0 || robust === null ? known : { ...known, robust: [robust] }
    })
    return { names: complete, others: first.slice(calls.length) }
  }

  /**
   * `other` is the key address of an ID, or the ID of a key address. The actor itself may contain a delegated address.
   */
  #namesOf(address: string, other: RpcAnswer | undefined, actor: RpcAnswer | undefined): Names {
    const isId = isIdAddress(address)
    const found = this.#address(other)
    const robust = isId ? found : address
    const delegated = actor?.ok === true ? this.#delegatedOf(actor.result) : null
    return {
      id: isId ? address : found,
      robust: [...new Set([robust, delegated])].filter((name) => name !== null),
    }
  }

  #address(answer: RpcAnswer | undefined): string | null {
    return answer?.ok === true ? this.#readAddress(answer.result) : null
  }

  #delegatedOf(actor: unknown): string | null {
    const { DelegatedAddress: delegated } = record(actor, 'actor')
    if (delegated === null || delegated === undefined || delegated === '' || delegated === '<empty>')
      return null
    return this.#readAddress(delegated)
  }

  #readAddress(value: unknown): string {
    const address = typeof value === 'string' ? parseAddress(value) : null
    if (address === null) throw new BadAnswer('an address that is none')
    return formatAddress(address, this.#letter)
  }
}

function keyOf({ address, at }: IdentityQuestion): string {
  return `${address} ${at}`
}

function isIdAddress(address: string): boolean {
  return canonicalAddress(address)?.startsWith('f0') === true
}

function firstCalls({ address, at }: IdentityQuestion): StateCall[] {
  const other = isIdAddress(address) ? 'StateAccountKey' : 'StateLookupID'
  return [
    { method: other, params: [address], at },
    { method: 'StateGetActor', params: [address], at },
  ]
}
