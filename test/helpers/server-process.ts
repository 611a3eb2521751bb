import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const running = new Set<ChildProcess>()

// An interrupted run must leave nothing behind.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

interface ServerOptions {
  uid?: number
  gid?: number
  /** Variables beside the usual ones. */
  env?: Readonly<Record<string, string | undefined>>
}

/** A server of another project, which its user kills and starts again with the same arguments. */
export class ServerProcess {
  readonly #command: string
  readonly #args: readonly string[]
  readonly #options: ServerOptions
  #child: ChildProcess | undefined
  #output = ''

  constructor(command: string, args: readonly string[], options: ServerOptions = {}) {
    this.#command = command
    this.#args = args
    this.#options = options
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** The end of its output, for a failure. */
  get output(): string {
    return this.#output
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  start(): void {
    const path = `${process.env['PATH'] ?? ''}:/usr/sbin`
    const { env, ...account } = this.#options
    const child = spawn(this.#command, this.#args, {
      ...account,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, because Ctrl-C ends the servers after their clients.
      detached: true,
      env: { PATH: path, HOME: '/tmp', LC_ALL: 'C.UTF-8', ...env },
    })
    running.add(child)
    child.once('exit', () => running.delete(child))
    child.on('error', (error) => (this.#output += error.message))
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-10_000)))
    this.#child = child
  }

  /** Resolves once it has ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#child
    if (child === undefined || !this.isRunning || child.pid === undefined) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
}
