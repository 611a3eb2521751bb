import swagger, { type SwaggerTransform } from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import { READ } from '../routes/read.ts'
import { componentSchemas, parameterSchema } from '../schemas/common.ts'

const DESCRIPTION = `Cross-chain loans: tokens lent against FIL, and FIL lent against tokens.

Every route takes GET and HEAD; any other method is 405. Every failure is \`{"status":"ERROR","message":"…"}\`. A
parameter that a route does not know is 400. Answers with an \`ETag\` answer 304 to its \`If-None-Match\`. Amounts are
exact decimal text in whole units; docs/api.md in the repository describes units, paging and limits.`

const TAGS = [
  { name: 'Activity', description: 'What happened, newest first' },
  { name: 'Loans', description: 'A loan on both chains' },
  { name: 'Service', description: 'How fresh the answers are' },
]

/** Swagger UI sets inline styles and shows images of its own as data. */
const PAGE_POLICY = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
}

/** Writes the OpenAPI document from the routes' schemas: `/openapi.json`, and a page to browse it at `/docs`. */
export const openapi = fp(
  async (app) => {
    for (const schema of componentSchemas()) app.addSchema(schema)
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Loan activity',
          version: app.config.packageVersion,
          description: DESCRIPTION,
          license: { name: 'MIT', identifier: 'MIT' },
        },
        servers: [{ url: '/', description: 'This service' }],
        security: [],
        tags: TAGS,
      },
      hideUntagged: true,
      refResolver: { buildLocalReference: ({ $id }, _base, _fragment, index) => nameOf($id, index) },
      transform,
      transformObject: (document) => ('openapiObject' in document ? withoutHead(document.openapiObject) : {}),
    })
    await app.register(async (page) => {
      page.addHook('onRoute', (route) => {
        if (route.method === 'GET') route.method = READ
      })
      await page.register(swaggerUi, {
        routePrefix: '/docs',
        staticCSP: PAGE_POLICY,
        // The layout without a bar at the top has no place for a logo.
        logo: { type: 'image/svg+xml', content: '' },
        uiConfig: { layout: 'BaseLayout', validatorUrl: null, tryItOutEnabled: true },
      })
    })
  },
  { name: 'openapi', dependencies: ['services', 'headers'] },
)

/** Read by a hook, the same on each route. */
const MIN_POSITION = {
  type: 'object',
  properties: {
    'X-Min-Position': {
      type: 'string',
      pattern: '^\\d+$',
      examples: ['287'],
      description:
        'The `X-Position` of an earlier answer: this one is not older. The API waits up to 2 s for it, else it is 503',
    },
  },
}

/** Returns the schema of a route's own headers and those of every route. */
function headersOf(url: string, own: unknown): unknown {
  if (!url.startsWith('/api/')) return own
  const { properties } = (own ?? {}) as { properties?: object }
  return { ...MIN_POSITION, properties: { ...properties, ...MIN_POSITION.properties } }
}

/** Routes are validated by their zod schemas; the document shows these as JSON schemas. */
const transform: SwaggerTransform = ({ schema, url }) => ({
  url,
  schema: {
    ...schema,
    params: parameterSchema(schema.params),
    querystring: parameterSchema(schema.querystring),
    headers: headersOf(url, parameterSchema(schema.headers)),
  },
})

function nameOf(id: unknown, index: number): string {
  return typeof id === 'string' ? id.replace(/#$/, '') : `schema-${index}`
}

/** A HEAD is its GET without the body. */
function withoutHead<T extends { paths?: unknown }>(document: T): T {
  for (const path of Object.values((document.paths ?? {}) as Record<string, { head?: unknown }>))
    delete path.head
  return document
}
