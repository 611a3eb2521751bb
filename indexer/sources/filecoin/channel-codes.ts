import { LRUCache } from 'lru-cache'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import { isPaymentChannelCode } from '../../../shared/filecoin/actor-codes.ts'
import type { Report, RpcClient } from '../rpc/rpc-client.ts'
import { cidOf, record, wholeNumber } from './decode-json.ts'
import { askState } from './state-calls.ts'
import { askEveryone } from '../rpc/ask-everyone.ts'
import { lotusCall } from './lotus-call.ts'

const MOST_REMEMBERED = 10_000

/**
 * Decides whether an actor code is that of a payment channel. All codes released so far are built in. The node resolves
 * an unknown code: it reports the payment channel code of the network version at that tipset. An upgrade therefore
 * hides no channel.
 */
export class ChannelCodes {
  readonly #client: RpcClient
  readonly #report: Report
  /** Code -> whether it is that of a payment channel; an upgrade cannot change that. */
  readonly #learnt = new LRUCache<string, boolean>({ max: MOST_REMEMBERED })
  /** Codes that no node could classify. */
  readonly #untold = new LRUCache<string, true>({ max: MOST_REMEMBERED })

  constructor(client: RpcClient, report: Report) {
    this.#client = client
    this.#report = report
  }

  has(codeCid: string): boolean {
    return isPaymentChannelCode(codeCid) || this.#learnt.get(codeCid) === true
  }

  /**
   * Classifies codes of actors that were created in that tipset. The tipset's network version accepted them; the next
   * version may have other codes. A code that no node can classify counts as no channel for now and is reported. Throws
   * a RetryableError while an endpoint may still answer.
   */
  async learn(codes: readonly string[], tipset: BlockRef): Promise<void> {
    const unknown = codes.filter((code) => !isPaymentChannelCode(code) && !this.#learnt.has(code))
    if (unknown.length === 0) return
    const channelCode = await this.#codeAt(tipset.hash)
    for (const code of unknown) {
      if (channelCode === null) this.#tell(code, tipset)
      else this.#learnt.set(code, code === channelCode)
    }
  }

  #tell(code: string, { number }: BlockRef): void {
    if (this.#untold.has(code)) return
    this.#untold.set(code, true)
    this.#report(
      'warn',
      `an actor of the unknown code ${code} was made at ${number}: no node tells what a payment channel's code is there, and ` +
        `if it is one, it is not recorded (once a node tells: reindex --from ${number})`,
    )
  }

  async #codeAt(at: string): Promise<string | null> {
    const [version] = await askState(this.#client, 'network version', [
      { method: 'StateNetworkVersion', params: [], at },
    ])
    if (version?.ok !== true) return null
    const call = lotusCall('StateActorCodeCIDs', wholeNumber(version.result, 'network version'))
    const [codes] = await askEveryone(this.#client, 'actor codes', [call], {
      send: (endpoint, calls) => endpoint.send([...calls]),
      nameOf: ({ method, params }) => `${method}/${JSON.stringify(params)}`,
      open: ['pruned', 'unsupported'],
    })
    if (codes?.ok !== true) return null
    const code = record(codes.result, 'actor codes')['paymentchannel']
    return code === undefined ? null : cidOf(code, 'payment channel code')
  }
}
