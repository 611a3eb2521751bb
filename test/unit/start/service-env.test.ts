import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { writeServiceEnv } from '../../../devnet/start/service-env.ts'
import { parseServiceEnv } from '../../helpers/service-env.ts'

void t.test('what a start tells others of the same account', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'loan-activity-service-env-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'service.env')
  writeFileSync(file, 'OLD=1\n')
  chmodSync(file, 0o644)
  const told = {
    DATABASE_URL: `postgres://me:p#a"s\\n$s=\`@127.0.0.1/x?a=b`,
    NETWORKS_FILE: `/a folder/it's "mine"/networks\\new.json`,
  }
  const forget = writeServiceEnv(folder, told)
  t.same(parseServiceEnv(folder), told, 'is read as it was written, whatever a password has in it')
  t.equal(statSync(file).mode & 0o777, 0o600, 'and is closed to others, also where a file was that was not')
  forget()
  t.notOk(existsSync(file), 'and goes with it')
  t.end()
})
