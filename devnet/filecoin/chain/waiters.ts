import type { Receipt } from '../vm/execute-message.ts'
import type { Tipset } from './tipset.ts'

export interface Execution {
  cid: string
  /** Height of the tipset that includes it, which is the epoch the message saw. */
  height: number
  receipt: Receipt
  /** The tipset that includes it, and the one that commits to its receipt. */
  tipset: Tipset
  child: Tipset
}

interface Waiter {
  cid: string
  resolve(execution: Execution): void
  reject(reason: Error): void
}

/** Callers that wait for a message to be executed. */
export class Waiters {
  private readonly waiting = new Set<Waiter>()

  wait(cid: string, signal: AbortSignal | undefined): Promise<Execution> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(new Error('the wait was given up'))
        return
      }
      const waiter = { cid, resolve, reject }
      this.waiting.add(waiter)
      signal?.addEventListener('abort', () => this.refuse(waiter, 'the wait was given up'), { once: true })
    })
  }

  settle(executionOf: (cid: string) => Execution | undefined): void {
    for (const waiter of this.waiting) {
      const execution = executionOf(waiter.cid)
      if (execution === undefined) continue
      this.waiting.delete(waiter)
      waiter.resolve(execution)
    }
  }

  close(): void {
    for (const waiter of this.waiting) this.refuse(waiter, 'the chain was stopped')
  }

  private refuse(waiter: Waiter, why: string): void {
    if (this.waiting.delete(waiter)) waiter.reject(new Error(why))
  }
}
