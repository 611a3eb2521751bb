import { messageOf } from '../../shared/errors.ts'
import type { ChildOutput } from './child-output.ts'
import type { ChildRecords } from './child-records.ts'
import { superviseChild, type ChildSpec, type SupervisedChild } from './supervised-child.ts'

/** Ordered by dependency: the part that takes requests stops first, the part that keeps the data last. */
const STOP_ORDER = ['api', 'indexer', 'devnet', 'postgres']

/** The children of one supervisor: started in turn, stopped in order. */
export class Family {
  readonly #children: SupervisedChild[] = []
  readonly #records: ChildRecords
  readonly #output: ChildOutput
  readonly #tell: (text: string) => void
  #closed = false
  #fail: (error: unknown) => void = () => undefined
  /** Rejects when a child can never run again. */
  readonly failed: Promise<never>

  constructor(records: ChildRecords, output: ChildOutput, tell: (text: string) => void) {
    this.#records = records
    this.#output = output
    this.#tell = tell
    this.failed = new Promise<never>((_, reject) => (this.#fail = reject))
    this.failed.catch(() => undefined)
  }

  /** Starts a child and waits until it works. */
  async start(spec: ChildSpec): Promise<void> {
    // A start was still under way when the stop began.
    if (this.#closed) throw new Error(`${spec.name} is not started any more`)
    const logFile = this.#output.fileOf(spec.name)
    const child = superviseChild(
      { ...spec, logFile },
      {
        onSpawn: (name, pid) => this.#records.add(name, pid),
        onLine: (name, line, stream, wasReady) => this.#output.line(name, line, stream, wasReady),
        onRestart: (name, how, delayMs) =>
          this.#tell(`${name} ${how}: starting it again in ${delayMs / 1000} s`),
      },
    )
    this.#children.push(child)
    child.failed.catch((error: unknown) => this.#fail(error))
    await child.ready
  }

  async stop(): Promise<void> {
    this.#closed = true
    const order = ({ name }: SupervisedChild): number => STOP_ORDER.indexOf(name)
    for (const child of this.#children.toSorted((a, b) => order(a) - order(b))) {
      await child.stop().catch((error: unknown) => this.#tell(`${child.name}: ${messageOf(error)}`))
    }
    this.#records.clear()
  }

  kill(): void {
    this.#closed = true
    for (const child of this.#children) child.kill()
  }
}
