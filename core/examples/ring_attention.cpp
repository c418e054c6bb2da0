// Causal attention over a sequence that is too long for one machine and is therefore divided among
// MPI processes (Liu et al. 2023, arXiv:2310.01889). Keys and values travel around a ring. Each
// process attends from its own queries to the keys that have arrived and merges the result with its
// previous result. At the same time, it sends the keys on to the next process.
//
//   mpirun -n 4 ring_attention [tokens per stripe]
//
// A query attends only to its own token and earlier ones, so the first queries have the least work.
// The sequence is therefore cut into 2·P stripes, and process p gets stripes p and 2·P − 1 − p, so
// that all processes have the same amount of work (Brandon et al. 2023, arXiv:2311.09431).

#include <mpi.h>

#include <algorithm>
#include <array>
#include <attn/attn.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t kHeads = 2, kDim = 64;
enum Input : std::uint64_t { kQuery, kKey, kValue };

/// Indices of the two stripes that an MPI process gets, in ascending order.
std::array<int, 2> stripes_of(int process, int processes) {
  return {process, 2 * processes - 1 - process};
}

/// Fills a stripe's tensor (1, H, length, D) with random numbers. A real model would compute them.
void fill(Input input, int stripe, const attn::Tensor& x) {
  attn::fill_normal(x, {.seed = input, .stream = static_cast<std::uint64_t>(stripe)});
}

int count_of(const attn::OwnedTensor& x) { return static_cast<int>(x.values().size()); }

/// The queries of a stripe, and the result of their attention to all keys so far.
struct Queries {
  int stripe;
  attn::OwnedTensor query, output, log_sum_exp;
};

/// Attends from a stripe's queries to a stripe of keys and merges the result with the previous one.
void attend(Queries& q, int key_stripe, const attn::ConstTensor& key,
            const attn::ConstTensor& value, std::int64_t& pairs) {
  if (key_stripe > q.stripe) return;  // all of these keys come after all of the queries
  const std::int64_t length = key.size(2);
  attn::OwnedTensor output(q.output.shape()), log_sum_exp(q.log_sum_exp.shape());
  attn::AttentionOptions options{.causal = true};
  options.diagonal = attn::Diagonal::offset((q.stripe - key_stripe) * length);
  options.log_sum_exp = log_sum_exp;
  attn::scaled_dot_product_attention(q.query, key, value, output, options);
  attn::merge_attention(q.output, q.log_sum_exp, output, log_sum_exp, q.output, q.log_sum_exp);
  pairs += key_stripe == q.stripe ? length * (length + 1) / 2 : length * length;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int process = 0, processes = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const std::int64_t length = argc > 1 ? std::atoll(argv[1]) : 96;
  if (length < 1) {
    if (process == 0)
      std::fprintf(stderr, "usage: ring_attention [tokens per stripe, 1 or more]\n");
    MPI_Finalize();
    return 2;
  }
  const std::array<std::int64_t, 4> stripe_shape{1, kHeads, length, kDim};

  // Keys and values of two stripes: (stripe, key or value, H, length, D).
  attn::OwnedTensor here({2, 2, kHeads, length, kDim}), next(here.shape());
  std::vector<Queries> queries;
  for (const int stripe : stripes_of(process, processes)) {
    const auto both = here.view().select(0, static_cast<std::int64_t>(queries.size()));
    fill(kKey, stripe, both.select(0, 0).unsqueeze(0));
    fill(kValue, stripe, both.select(0, 1).unsqueeze(0));
    Queries& q = queries.emplace_back(stripe, attn::OwnedTensor(stripe_shape),
                                      attn::OwnedTensor(stripe_shape),
                                      attn::OwnedTensor({1, kHeads, length}));
    fill(kQuery, stripe, q.query);
    // A log-sum-exp of −∞ marks a part without keys, whose output merge_attention() does not read.
    std::ranges::fill(q.log_sum_exp.values(), -std::numeric_limits<float>::infinity());
  }

  const int before = (process + processes - 1) % processes, after = (process + 1) % processes;
  std::int64_t pairs = 0;
  for (int step = 0; step < processes; ++step) {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (step + 1 < processes) {
      MPI_Irecv(next.values().data(), count_of(next), MPI_FLOAT, before, 0, MPI_COMM_WORLD,
                &requests[0]);
      MPI_Isend(here.values().data(), count_of(here), MPI_FLOAT, after, 0, MPI_COMM_WORLD,
                &requests[1]);
    }
    const auto key_stripes = stripes_of((process + processes - step) % processes, processes);
    for (std::size_t i = 0; i < key_stripes.size(); ++i) {
      const attn::ConstTensor both =
          std::as_const(here).view().select(0, static_cast<std::int64_t>(i));
      for (Queries& q : queries) {
        attend(q, key_stripes[i], both.select(0, 0).unsqueeze(0), both.select(0, 1).unsqueeze(0),
               pairs);
      }
    }
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    std::swap(here, next);
  }

  // Compares the result with attention over the whole sequence, computed in one process.
  int failed = 0;
  const int stripe_count = count_of(queries[0].output);
  std::vector<float> outputs(process == 0 ? static_cast<std::size_t>(2 * processes * stripe_count)
                                          : 0);
  for (int i = 0; i < 2; ++i) {
    MPI_Gather(queries[static_cast<std::size_t>(i)].output.values().data(), stripe_count, MPI_FLOAT,
               outputs.data() + i * processes * stripe_count, stripe_count, MPI_FLOAT, 0,
               MPI_COMM_WORLD);
  }
  std::vector<std::int64_t> work(static_cast<std::size_t>(processes));
  MPI_Gather(&pairs, 1, MPI_INT64_T, work.data(), 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  if (process == 0) {
    const std::int64_t tokens = 2 * processes * length;
    attn::OwnedTensor query({1, kHeads, tokens, kDim}), key(query.shape()), value(query.shape()),
        whole(query.shape());
    for (int stripe = 0; stripe < 2 * processes; ++stripe) {
      const auto part = [&](attn::OwnedTensor& x) {
        return x.view().slice(2, stripe * length, (stripe + 1) * length);
      };
      fill(kQuery, stripe, part(query));
      fill(kKey, stripe, part(key));
      fill(kValue, stripe, part(value));
    }
    attn::scaled_dot_product_attention(query, key, value, whole, {.causal = true});
    float difference = 0;
    for (int p = 0; p < processes; ++p) {
      const auto stripes = stripes_of(p, processes);
      for (int i = 0; i < 2; ++i) {
        const attn::ConstTensor got(outputs.data() + (i * processes + p) * stripe_count,
                                    stripe_shape);
        for (std::int64_t h = 0; h < kHeads; ++h) {
          for (std::int64_t n = 0; n < length; ++n) {
            for (std::int64_t d = 0; d < kDim; ++d) {
              const float wanted =
                  whole.view()(0, h, stripes[static_cast<std::size_t>(i)] * length + n, d);
              difference = std::max(difference, std::abs(got(0, h, n, d) - wanted));
            }
          }
        }
      }
    }
    const auto [least, most] = std::ranges::minmax(work);
    std::printf("%lld tokens in %d processes, %lld to %lld pairs each, largest difference %.1e\n",
                static_cast<long long>(tokens), processes, static_cast<long long>(least),
                static_cast<long long>(most), static_cast<double>(difference));
    failed = difference < 5e-6F && least == most ? 0 : 1;
  }
  MPI_Bcast(&failed, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
