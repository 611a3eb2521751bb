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

/** Whom to identify, as of the state that the tipset `at` begins with. */
export interface IdentityQuestion {
  /** As written, with the network's letter. */
  address: string
  /** The key of a tipset. */
  at: string
  /** That tipset's parents cannot be reorganized: who this is will not change any more. */
  isFinal: boolean
}

type Names = Pick<FilecoinIdentity, 'id' | 'robust'>

const MOST_REMEMBERED = 20_000

/**
 * Every name of somebody: the ID address, and the key, actor or delegated addresses. What no node can tell (or not in
 * time, of an actor's address) stays unknown. What is complete and final is remembered.
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
   * In the questions' order; `beside` are questions of another kind that go along, to save a request. Throws a
   * RetryableError when a node may know and does not answer.
   */
  async identify(
    questions: readonly IdentityQuestion[],
    beside: readonly StateCall[],
  ): Promise<{ identities: FilecoinIdentity[]; beside: RpcAnswer[] }> {
    const open = new Map<string, IdentityQuestion>()
    const found = new Map<string, Names>()
    for (const question of questions) {
      // Taken now: it may be forgotten for what is found meanwhile, here or in another call.
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

  /** Two rounds: numbers and keys for all, then the addresses of actors that are named by their number. */
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

  /** `other` is the key of a number, or the number of a key; the actor itself may tell a delegated address. */
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
