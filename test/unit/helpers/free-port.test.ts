import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { freePort } from '../../helpers/free-port.ts'

const run = promisify(execFile)
const MODULE = new URL('../../helpers/free-port.ts', import.meta.url).href
/** More than a block has. */
const MANY = 150

void t.test('nobody is given a port twice, whichever process asks', async (t) => {
  const here: number[] = []
  for (let n = 0; n < MANY; n += 1) here.push(await freePort())
  const script = `const { freePort } = await import(${JSON.stringify(MODULE)})
    const ports = []
    for (let n = 0; n < ${MANY}; n += 1) ports.push(await freePort())
    console.log(JSON.stringify(ports))
    await new Promise((resolve) => process.stdin.once('data', resolve))`
  const others = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const started = run(process.execPath, ['--import=tsx', '--input-type=module', '--eval', script])
      const ports = await new Promise<number[]>((resolve, reject) => {
        started.child.stdout?.once('data', (line: Buffer) => resolve(JSON.parse(line.toString()) as number[]))
        started.catch(reject)
      })
      return { ports, started }
    }),
  )
  const all = [...here, ...others.flatMap(({ ports }) => ports)]
  t.equal(all.length, MANY * 5)
  t.equal(new Set(all).size, all.length)
  for (const { started } of others) started.child.stdin?.end('go')
  await Promise.all(others.map(({ started }) => started))
})
