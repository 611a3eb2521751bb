import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { serviceProgram, type ProgramName } from './service-program.ts'

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface ApiProcess {
  child: ChildProcess
  ended: Promise<Ended>
  /** The address in its log, `http://127.0.0.1:<port>`. */
  listening: Promise<string>
  /** Resolves once standard output contains this text. */
  said: (text: string) => Promise<void>
}

/** Starts the API, or another program, in a process of its own with only the given environment; killed in teardown. */
export function startApi(
  t: Test,
  env: Record<string, string>,
  options: { args?: string[]; ipc?: boolean; program?: ProgramName } = {},
): ApiProcess {
  const { flags, path } = serviceProgram(options.program ?? 'api/main')
  const child = spawn(process.execPath, [...flags, path, ...(options.args ?? [])], {
    stdio: options.ipc === true ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  const output = { stdout: '', stderr: '' }
  const listening = new Promise<string>((resolve) => {
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        output[name] += text
        const [, address] = /Server listening at (http:[^"]+)"/.exec(output.stdout) ?? []
        if (address !== undefined) resolve(address)
      })
    }
  })
  const said = async (text: string): Promise<void> => {
    while (!output.stdout.includes(text)) await once(child.stdout ?? child, 'data')
  }
  const ended = leave(child).then((code): Ended => ({ code, ...output }))
  t.teardown(() => child.kill('SIGKILL'))
  return { child, ended, listening, said }
}

/** Returns the exit code after the end of the output. Node emits no 'close' after our own disconnect. */
async function leave(child: ChildProcess): Promise<number | null> {
  const streams = [child.stdout, child.stderr].flatMap((stream) =>
    stream === null ? [] : [once(stream, 'end')],
  )
  const [code] = (await once(child, 'exit')) as [number | null]
  await Promise.all(streams)
  return code
}
