import { isPaymentChannelCode } from '../../../shared/filecoin/actor-codes.ts'
import type { RpcClient } from '../rpc/rpc-client.ts'
import { cidOf, record, wholeNumber } from './decode-json.ts'
import { askState } from './state-calls.ts'
import { askEveryone, settle } from '../rpc/ask-everyone.ts'
import { lotusCall } from './lotus-call.ts'

const MOST_REMEMBERED = 10_000

/**
 * Which code is a payment channel's. Those of all versions up to now are known; of a code that is not, the node is
 * asked what the network's version at that tipset calls a payment channel: so that an upgrade hides no channel.
 */
export class ChannelCodes {
  readonly #client: RpcClient
  /** Code -> whether it is a payment channel's; an upgrade cannot change that. */
  readonly #learnt = new Map<string, boolean>()

  constructor(client: RpcClient) {
    this.#client = client
  }

  has(codeCid: string): boolean {
    return isPaymentChannelCode(codeCid) || this.#learnt.get(codeCid) === true
  }

  /**
   * Finds out about these codes, as of the tipset `at`. What no node can tell counts as no channel for now; throws a
   * RetryableError while one may still tell.
   */
  async learn(codes: readonly string[], at: string): Promise<void> {
    const unknown = codes.filter((code) => !isPaymentChannelCode(code) && !this.#learnt.has(code))
    if (unknown.length === 0) return
    const channelCode = await this.#codeAt(at)
    if (channelCode === null) return
    for (const code of unknown) this.#remember(code, code === channelCode)
  }

  async #codeAt(at: string): Promise<string | null> {
    const [version] = await askState(this.#client, 'network version', [
      { method: 'StateNetworkVersion', params: [], at },
    ])
    if (version?.ok !== true) return null
    const call = lotusCall('StateActorCodeCIDs', wholeNumber(version.result, 'network version'))
    const unanswerable = ['pruned', 'unsupported'] as const
    const [codes] = await askEveryone(
      this.#client,
      'actor codes',
      [call],
      async (endpoint, calls) => {
        const names = calls.map(({ method, params }) => `${method}/${JSON.stringify(params)}`)
        return settle(this.#client, endpoint, names, await endpoint.send([...calls]), unanswerable)
      },
      unanswerable,
    )
    if (codes?.ok !== true) return null
    const code = record(codes.result, 'actor codes')['paymentchannel']
    return code === undefined ? null : cidOf(code, 'payment channel code')
  }

  #remember(code: string, isChannel: boolean): void {
    this.#learnt.set(code, isChannel)
    const [oldest] = this.#learnt.keys()
    if (this.#learnt.size > MOST_REMEMBERED && oldest !== undefined) this.#learnt.delete(oldest)
  }
}
