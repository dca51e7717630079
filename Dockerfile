# A service of one model, in an image without a compiler, npm's development packages or root:
#   docker build -t blog .                                            the reference model
#   docker run -p 3000:3000 -v blog:/data blog
#   docker exec CONTAINER portico backup /data/copy.db                any command
# For a model of your own: FROM this image, COPY model.ts ./ and ENV PORTICO_MODEL=model.ts

FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --workspaces=false --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
RUN node --input-type=module --eval "import { build } from './scripts/build.mjs'; await build()"

FROM node:26-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --workspaces=false --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:26-slim
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY examples/blog ./examples/blog
RUN install -d -o node -g node /data .cache && ln -s /app/dist/bin.js /usr/local/bin/portico
USER node
ENV NODE_ENV=production \
    DATABASE_URL=/data/portico.db \
    FILES_URL=/data/files \
    PORTICO_MODEL=examples/blog/model.ts \
    PORT=3000
# Fills the cache of compiled code, which makes starts quicker, and finds a wrong model now.
RUN ["node", "dist/bin.js", "check"]
EXPOSE 3000
# Node itself is the first process: it takes SIGTERM, and ends what it has started.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "--eval", "fetch('http://127.0.0.1:' + process.env.PORT + '/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/bin.js", "start"]
