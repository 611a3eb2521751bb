import { messageOf, RetryableError } from '../../../shared/errors.ts'
import { voucherText } from '../../../shared/filecoin/voucher.ts'
import { ownText } from '../rpc/foreign-text.ts'
import type { Report } from '../rpc/rpc-client.ts'
import type { RpcAnswer, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed } from '../rpc/rpc-error.ts'
import { itemsOf, record, textOf } from './decode-json.ts'
import { decodeLotusVoucher } from './decode-lotus-voucher.ts'
import { lotusCall } from './lotus-call.ts'
import type { LotusClient } from './lotus-client.ts'

/** Far above what one wallet holds; bounds the memory that a node can make us use. */
const MOST_CHANNELS = 10_000
const MOST_VOUCHERS = 100_000

/** An entry of a node's store that is no valid voucher, as stored. */
export interface UnreadableVoucher {
  /** The beginning of its JSON. */
  unreadable: string
  reason: string
}

/** Standard base64, the form in which records name vouchers. */
export type NodeVoucher = string | UnreadableVoucher

const SHOWN_CHARACTERS = 2_000

/**
 * Reads the vouchers that a node keeps for its own wallet. Every endpoint is a node with its own store. A node without
 * one (its manager is off, or the token lacks the permission) is reported once and not asked again.
 */
export class NodeVouchers {
  readonly #client: LotusClient
  readonly #report: Report
  readonly #without = new Set<RpcEndpoint>()

  constructor(client: LotusClient, report: Report) {
    this.#client = client
    this.#report = report
  }

  /** Returns each voucher once, unreadable ones last. Throws a RetryableError when no endpoint answers now. */
  async read(): Promise<NodeVoucher[]> {
    const texts = new Set<string>()
    const unreadable: UnreadableVoucher[] = []
    const open = this.#client.rpc.available().filter((endpoint) => !this.#without.has(endpoint))
    let failure: RetryableError | null = null
    for (const endpoint of open) {
      try {
        for (const voucher of await this.#readOne(endpoint)) {
          if (typeof voucher === 'string') texts.add(voucher)
          else unreadable.push(voucher)
        }
      } catch (error) {
        if (error instanceof CallFailed && error.kind === 'unsupported') this.#leaveOut(endpoint, error)
        else if (error instanceof RetryableError) failure = error
        else throw error
      }
    }
    if (failure !== null && texts.size === 0) throw failure
    return [...texts, ...unreadable]
  }

  async #readOne(endpoint: RpcEndpoint): Promise<NodeVoucher[]> {
    const { method, params } = lotusCall('PaychList')
    const channels = itemsOf(await endpoint.call(method, params), 'channels')
      .slice(0, MOST_CHANNELS)
      .map((channel) => textOf(channel, 'channel'))
    let count = 0
    const calls = channels.map((channel) => lotusCall('PaychVoucherList', channel))
    const vouchers = await endpoint.sendEach(calls, (answer) => {
      const some = vouchersIn(endpoint, answer).slice(0, MOST_VOUCHERS - count)
      count += some.length
      return some
    })
    return vouchers.flat()
  }

  #leaveOut(endpoint: RpcEndpoint, error: CallFailed): void {
    this.#without.add(endpoint)
    this.#report('info', `${endpoint.label} has no voucher store for us: ${messageOf(error)}`)
  }
}

/** A channel that the node no longer tracks has no vouchers; one invalid voucher does not hide the others. */
function vouchersIn(endpoint: RpcEndpoint, answer: RpcAnswer): NodeVoucher[] {
  if (!answer.ok && /not tracked/i.test(answer.message)) return []
  return itemsOf(endpoint.resultOf('PaychVoucherList', answer), 'vouchers').map((item) => {
    try {
      return voucherText(decodeLotusVoucher(voucherIn(item)))
    } catch (error) {
      if (!(error instanceof BadAnswer || error instanceof RangeError)) throw error
      return { unreadable: ownText(jsonOf(item).slice(0, SHOWN_CHARACTERS)), reason: messageOf(error) }
    }
  })
}

function jsonOf(item: unknown): string {
  return JSON.stringify(item, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/** Some versions wrap each voucher together with its proof. */
function voucherIn(item: unknown): unknown {
  return record(item, 'voucher')['Voucher'] ?? item
}
