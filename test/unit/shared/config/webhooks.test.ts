import t from 'tap'
import { parseWebhooks } from '../../../../shared/config/config.ts'
import { messageOf } from '../../../../shared/errors.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ONE = { name: 'one', url: 'https://back.example/hook', secret: SECRET }

function mistake(...webhooks: unknown[]): string {
  try {
    parseWebhooks({ webhooks }, 'w.json', {})
  } catch (error) {
    return messageOf(error)
  }
  return ''
}

void t.test('a webhook begins now and gets everything, unless the file says otherwise', (t) => {
  const file = {
    webhooks: [
      { ...ONE, secret: '${HOOK}' },
      { ...ONE, name: 'two', networks: ['evm:1:a'] },
      { ...ONE, name: 'three', events: [], dueSoonHours: 24 },
    ],
  }
  t.same(parseWebhooks(file, 'w.json', { HOOK: SECRET }), {
    webhooks: [
      { ...ONE, from: 'now' },
      { ...ONE, name: 'two', networks: ['evm:1:a'], from: 'now' },
      { ...ONE, name: 'three', events: [], dueSoonHours: 24, from: 'now' },
    ],
  })
  t.end()
})

void t.test('each mistake is one line that names its place, and no secret', (t) => {
  const at = 'WEBHOOKS_FILE w.json: webhooks'
  const base64 = (bytes: number): string => Buffer.alloc(bytes, 250).toString('base64')
  const wrongSecret = `${at}.0.secret: must be whsec_ and 24 to 64 bytes in base64`
  const wrongUrl = `${at}.0.url: must be an http:// or https:// URL without user and password`
  const lines: [told: string, line: string][] = [
    [mistake(), `${at}: must not be empty`],
    [mistake(...Array<unknown>(21).fill(ONE)), `${at}: must have at most 20 items`],
    [mistake({ ...ONE, name: 'One' }), `${at}.0.name: must have at most 32 lower-case letters, digits and -`],
    [mistake(ONE, ONE), `${at}: two webhooks have the name one`],
    [mistake({ ...ONE, url: 'ftp://back.example' }), wrongUrl],
    [mistake({ ...ONE, url: 'https://a:b@back.example' }), wrongUrl],
    [mistake({ ...ONE, secret: base64(32) }), wrongSecret],
    [mistake({ ...ONE, secret: `whsec_${base64(23)}` }), wrongSecret],
    [mistake({ ...ONE, secret: `whsec_${base64(65)}` }), wrongSecret],
    [mistake({ ...ONE, secret: 'whsec_not base64, but long enough for one' }), wrongSecret],
    [mistake({ ...ONE, secret: undefined }), `${at}.0.secret: is missing`],
    [
      mistake({ ...ONE, secret: '${HOOK}' }),
      'WEBHOOKS_FILE w.json: ${HOOK} is used there, but HOOK is not set',
    ],
    [mistake({ ...ONE, events: ['CreateLoan'] }), `${at}.0.events.0: must be an event of docs/api.md`],
    [mistake({ ...ONE, events: [] }), `${at}.0.events: must not be empty without dueSoonHours`],
    [mistake({ ...ONE, dueSoonHours: 0 }), `${at}.0.dueSoonHours: must be at least 1`],
    [mistake({ ...ONE, dueSoonHours: 721 }), `${at}.0.dueSoonHours: must be at most 720`],
    [mistake({ ...ONE, loanTypes: ['FIL'] }), `${at}.0.loanTypes.0: must be one of ERC20FIL, FILERC20`],
    [
      mistake({ ...ONE, networks: ['1'] }),
      `${at}.0.networks.0: must be a network such as evm:1 or filecoin:mainnet`,
    ],
    [mistake({ ...ONE, from: 'then' }), `${at}.0.from: must be one of now, beginning`],
    [mistake({ ...ONE, event: [] }), `${at}.0: has the unknown key "event"`],
  ]
  for (const [told, line] of lines) t.equal(told, line)
  t.end()
})
