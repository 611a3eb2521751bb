import { RetryableError } from '../../../shared/errors.ts'
import type { BlockHeader, BlockRef } from '../../../shared/events/chain-step.ts'
import type { Report } from '../rpc/rpc-client.ts'
import type { RpcAnswer, RpcCall, RpcEndpoint } from '../rpc/rpc-endpoint.ts'
import { BadAnswer, CallFailed, ContradictsFinal } from '../rpc/rpc-error.ts'
import { requireStart } from '../require-start.ts'
import { takeTipset, tipsetOf, walkDown, type BranchReader } from './branch-reader.ts'
import { headerOf, type Tipset } from './decode-tipset.ts'
import { keyParam, lotusCall } from './lotus-call.ts'
import type { LotusClient } from './lotus-client.ts'
import type { FinalityCertificates } from './proof/finality-certificates.ts'
import type { TipsetMemory } from './tipset-memory.ts'

/** Epochs behind the head that count as final, for nodes that do not report finality. */
const FALLBACK_DEPTH = 900
const OLD_AFTER_EPOCHS = 2

export interface HeadView {
  /** The node's own head, which is not executed yet. */
  head: Tipset
  /** The newest tipset to index. */
  newest: Tipset
  /** Not above `newest`. */
  finalized: BlockRef | null
  /** Proven final by a certificate. Not above `newest`. */
  certified: BlockRef | null
  /** Time of the look, in milliseconds of the monotonic clock. */
  atMs: number
}

/** Head and finality of one network. An endpoint that contradicts a final block is rejected. */
export class LotusHead {
  readonly #client: LotusClient
  readonly #memory: TipsetMemory
  readonly #confidence: number
  readonly #startEpoch: number
  readonly #report: Report
  readonly #certificates: FinalityCertificates
  #final: BlockRef | null = null
  #view: HeadView | null = null
  #isToldFinal = true
  #saidFallback = false

  constructor(
    client: LotusClient,
    memory: TipsetMemory,
    { confidence, startEpoch }: { confidence: number; startEpoch: number },
    report: Report,
    certificates: FinalityCertificates,
  ) {
    this.#client = client
    this.#memory = memory
    this.#confidence = confidence
    this.#startEpoch = startEpoch
    this.#report = report
    this.#certificates = certificates
  }

  believeFinal(block: BlockRef): void {
    if (this.#final === null || block.number >= this.#final.number) this.#final = block
  }

  get final(): BlockRef | null {
    return this.#final
  }

  get certified(): BlockRef | null {
    return this.#view?.certified ?? null
  }

  /** Returns the newest tipset to index: the configured number of epochs below the parent of the node's head. */
  async head(): Promise<BlockHeader> {
    const view = await this.look()
    this.#isToldFinal = false
    return headerOf(view.newest)
  }

  /** Returns the newest final tipset to index, from the same look as the head; null while there is none. */
  async finalized(): Promise<BlockRef | null> {
    const view = this.#view === null || this.#isToldFinal ? await this.look() : this.#view
    this.#isToldFinal = true
    const { finalized } = view
    if (finalized === null || (this.#final !== null && finalized.number <= this.#final.number))
      return this.#final
    return finalized
  }

  /** Returns the last view if it is at most `maxAgeMs` old and reaches `height`; otherwise looks again. */
  async view(height: number, maxAgeMs: number): Promise<HeadView> {
    const last = this.#view
    if (last !== null && last.newest.height >= height && performance.now() - last.atMs <= maxAgeMs)
      return last
    return this.look()
  }

  async look(): Promise<HeadView> {
    const { rpc } = this.#client
    const seen: RpcEndpoint[] = []
    const at = (endpoint: RpcEndpoint): Promise<HeadView> => {
      seen.push(endpoint)
      return this.#lookAt(endpoint)
    }
    let view = await rpc.read('head', at)
    while (this.#isOld(view) && rpc.available().some((endpoint) => !seen.includes(endpoint))) {
      try {
        const other = await rpc.read('head', at, { excluding: [...seen], attempts: 1 })
        if (other.head.height > view.head.height) view = other
      } catch (error) {
        if (!(error instanceof RetryableError)) throw error
        break
      }
    }
    this.#view = view
    return view
  }

  /** A chain never stands still this long but a node may, so the other endpoints are worth asking. */
  #isOld({ head }: HeadView): boolean {
    return Date.now() / 1000 - head.timeS > OLD_AFTER_EPOCHS * this.#client.facts().epochDurationS
  }

  async #lookAt(endpoint: RpcEndpoint): Promise<HeadView> {
    const known = this.#final
    const calls: RpcCall[] = [lotusCall('ChainHead'), lotusCall('ChainGetFinalizedTipSet')]
    if (known !== null) calls.push(lotusCall('ChainGetTipSetByHeight', known.number, []))
    const [headAnswer, finalAnswer, knownAnswer] = await endpoint.send(calls)
    const reader = { endpoint, memory: this.#memory, facts: this.#client.facts() }
    const head = takeTipset(reader, endpoint.resultOf('ChainHead', headAnswer))
    if (head.height === 0) throw new CallFailed('nothing was executed yet', 'missing-block')
    if (known !== null && head.height <= known.number) {
      throw new ContradictsFinal(`its head ${head.height} is not above block ${known.number}, which is final`)
    }
    if (known !== null) this.#checkFinal(reader, known, knownAnswer)
    const executed = await tipsetOf(reader, head.parentKey)
    const final = await this.#finalOf(reader, head, finalAnswer)
    const below = await walkDown(reader, executed, Math.max(0, executed.height - this.#confidence))
    const newest = below.at(-1) ?? executed
    // The head itself is not executed yet, and null rounds may lie below it.
    const behind = head.height - newest.height
    requireStart({ head: head.height, behind }, 'startEpoch', this.#startEpoch)
    this.#certificates.follow()
    const certified = this.#certificates.progress?.head
    return {
      head,
      newest,
      finalized: final === null ? null : finalUpTo(newest, final, [head, ...below]),
      certified:
        certified === undefined
          ? null
          : finalUpTo(newest, { height: certified.epoch, key: certified.key }, [head, ...below]),
      atMs: performance.now(),
    }
  }

  /** The answer for a null round is the newest tipset below it. A node that no longer has the tipset proves nothing. */
  #checkFinal(reader: BranchReader, known: BlockRef, answer: RpcAnswer | undefined): void {
    if (answer?.ok !== true) return
    const { key } = takeTipset(reader, answer.result)
    if (key === known.hash) return
    throw new ContradictsFinal(`block ${known.number} is ${key} there, but ${known.hash} is final`)
  }

  async #finalOf(reader: BranchReader, head: Tipset, answer: RpcAnswer | undefined): Promise<Tipset | null> {
    if (answer?.ok === true) {
      const tipset = takeTipset(reader, answer.result)
      if (tipset.height <= head.height) return tipset
      throw new BadAnswer(`its final tipset ${tipset.height} is above its head ${head.height}`)
    }
    if (head.height <= FALLBACK_DEPTH) return null
    if (answer?.ok === false) this.#sayFallback(reader.endpoint, answer.message)
    const call = lotusCall('ChainGetTipSetByHeight', head.height - FALLBACK_DEPTH, keyParam(head.key))
    const tipset = takeTipset(reader, await reader.endpoint.call(call.method, call.params))
    if (tipset.height <= head.height - FALLBACK_DEPTH) return tipset
    throw new RetryableError(`asked for the tipset at ${head.height - FALLBACK_DEPTH}, got a higher one`)
  }

  #sayFallback(endpoint: RpcEndpoint, said: string): void {
    if (this.#saidFallback) return
    this.#saidFallback = true
    this.#report(
      'warn',
      `${endpoint.label} does not tell what is final (${said}): ${FALLBACK_DEPTH} epochs behind the head count as final`,
    )
  }
}

/**
 * Returns the newest final tipset at or below `newest`. That is `newest` itself if the final tipset is above it,
 * because ancestors of a final tipset are final. Returns null when the final tipset is not in `above`, the path from
 * the head down to `newest`.
 */
function finalUpTo(
  newest: Tipset,
  final: Pick<Tipset, 'height' | 'key'>,
  above: readonly Tipset[],
): BlockRef | null {
  if (final.height <= newest.height) return { number: final.height, hash: final.key }
  return above.some(({ key }) => key === final.key) ? { number: newest.height, hash: newest.key } : null
}
