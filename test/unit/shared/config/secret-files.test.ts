import { join } from 'node:path'
import t from 'tap'
import { loadEnvironment, loadRolePasswords, parseWebhooks } from '../../../../shared/config/config.ts'
import { hideSecrets } from '../../../../shared/secrets.ts'
import { mistake } from '../../../helpers/config-mistake.ts'

const PASSWORD = 'hunter2-of-the-file'
const DATABASE_URL = `postgres://u:${PASSWORD}@h/db`

void t.test('a URL in a file counts as the variable itself', (t) => {
  const folder = t.testdir({ plain: DATABASE_URL, unix: `${DATABASE_URL}\n`, windows: `${DATABASE_URL}\r\n` })
  for (const file of ['plain', 'unix', 'windows'])
    t.equal(loadEnvironment({ DATABASE_URL_FILE: join(folder, file) }).DATABASE_URL, DATABASE_URL, file)
  t.notMatch(hideSecrets(`password ${PASSWORD}`), PASSWORD, 'and its password is hidden in logs')
  const read = { DATABASE_URL, READ_DATABASE_URL_FILE: join(folder, 'unix') }
  t.equal(loadEnvironment(read).READ_DATABASE_URL, DATABASE_URL)
  t.equal(loadEnvironment({ DATABASE_URL, DATABASE_URL_FILE: '' }).DATABASE_URL, DATABASE_URL)
  t.equal(
    loadEnvironment({ DATABASE_URL: '', DATABASE_URL_FILE: join(folder, 'unix') }).DATABASE_URL,
    DATABASE_URL,
  )
  const redis = t.testdir({ redis: 'redis://:p@h:6379/1\n' })
  t.equal(loadEnvironment({ REDIS_URL_FILE: join(redis, 'redis') }).REDIS_URL, 'redis://:p@h:6379/1')
  t.end()
})

void t.test('passwords of roles, and secrets that other files name', (t) => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const folder = t.testdir({ password: 'a b\n', secret: `${secret}\n` })
  t.same(loadRolePasswords({ API_PASSWORD_FILE: join(folder, 'password'), INDEXER_PASSWORD: 'c' }), {
    indexer: 'c',
    api: 'a b',
  })
  const webhooks = { webhooks: [{ name: 'billing', url: 'https://h/', secret: '${HOOK}' }] }
  const parsed = parseWebhooks(webhooks, 'w.json', { HOOK_FILE: join(folder, 'secret') })
  t.equal(parsed.webhooks[0]?.secret, secret)
  t.end()
})

void t.test('a mistake is one line that shows no content and no path', (t) => {
  const folder = t.testdir({
    secret: DATABASE_URL,
    empty: '\n',
    large: PASSWORD.repeat(10_000),
    wrong: `mysql://u:${PASSWORD}@h/db\nmore`,
  })
  const of = (file: string): string =>
    mistake(() => loadEnvironment({ DATABASE_URL_FILE: join(folder, file) }))
  const both = { DATABASE_URL, DATABASE_URL_FILE: join(folder, 'secret') }
  const messages = [
    mistake(() => loadEnvironment(both)),
    mistake(() => loadEnvironment({ DATABASE_URL_FILE: DATABASE_URL })),
    ...['none', '', 'empty', 'large', 'wrong'].map(of),
  ]
  t.same(messages, [
    'DATABASE_URL and DATABASE_URL_FILE are both set: unset one of them',
    'DATABASE_URL_FILE names a file that cannot be read (ENOENT)',
    'DATABASE_URL_FILE names a file that cannot be read (ENOENT)',
    'DATABASE_URL_FILE names a file that cannot be read (EISDIR)',
    'DATABASE_URL_FILE names an empty file: write the secret into it',
    'DATABASE_URL_FILE names a file too large for a secret',
    'DATABASE_URL must be a URL that starts with postgres:// or postgresql://',
  ])
  t.end()
})
