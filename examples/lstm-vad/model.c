/* SPDX-License-Identifier: Apache-2.0
 *
 * A streaming voice activity detector: each call takes the next 512 samples (32 ms of 16 kHz mono, in [-1, 1)) and gives
 * the probability of speech in them. What it remembers between calls is state: the last 64 samples, and the h and c of an
 * LSTM. The network is that of Silero VAD 6 for 16 kHz (MIT licence), under the names of its silero_vad_16k.safetensors.
 */
#include <tensor_compile/model.h>

#ifndef WEIGHTS
#define WEIGHTS "lstm-vad.safetensors"
#endif

enum { CHUNK = 512, CONTEXT = 64, FRAME = CONTEXT + CHUNK, WINDOW = 256, HOP = 128, BINS = WINDOW / 2 + 1, HIDDEN = 128 };

/* A convolution along time: x [1, channels, time], weight [out, channels, window]. */
static tc_tensor convolve(tc_tensor x, tc_tensor weight, tc_tensor bias, int stride, int padding)
{
    return tc_squeeze(tc_conv2d(tc_unsqueeze(x, 2), tc_unsqueeze(weight, 2), bias, .stride = {1, stride},
                                .padding = {0, padding}), 2);
}

/* Magnitudes of the short-time Fourier transform, [1, BINS, 4], of a frame mirrored at its end: a convolution with the
 * sines and cosines of each frequency under a window. */
static tc_tensor spectrum(tc_graph *g, tc_tensor frame)
{
    tc_tensor mirrored = tc_gather(frame, tc_sub(FRAME - 2, tc_arange(g, TC_I32, CONTEXT)), 0);
    tc_tensor x = tc_reshape(tc_concat(0, frame, mirrored), 1, 1, FRAME + CONTEXT);
    x = convolve(x, tc_weight(g, "stft_conv.weight"), NULL, HOP, 0);
    tc_tensor real = tc_slice(x, 1, 0, BINS), imaginary = tc_slice(x, 1, BINS, TC_END);
    return tc_sqrt(tc_add(tc_mul(real, real), tc_mul(imaginary, imaginary)));
}

/* One step of an LSTM: x [1, HIDDEN]; gates in the order input, forget, cell, output. The new h. */
static tc_tensor lstm_cell(tc_graph *g, tc_tensor x)
{
    tc_tensor h = tc_state(g, "h", TC_F32, 1, HIDDEN), c = tc_state(g, "c", TC_F32, 1, HIDDEN), gate[4];
    tc_tensor sum = tc_add(tc_linear(x, tc_weight(g, "lstm_cell.weight_ih"), tc_weight(g, "lstm_cell.bias_ih")),
                           tc_linear(h, tc_weight(g, "lstm_cell.weight_hh"), tc_weight(g, "lstm_cell.bias_hh")));
    tc_split(sum, 1, 4, gate);
    tc_tensor cell = tc_add(tc_mul(tc_sigmoid(gate[1]), c), tc_mul(tc_sigmoid(gate[0]), tc_tanh(gate[2])));
    tc_tensor hidden = tc_mul(tc_sigmoid(gate[3]), tc_tanh(cell));
    tc_assign(h, hidden);
    tc_assign(c, cell);
    return hidden;
}

TC_MODEL(vad)
{
    tc_tensor samples = tc_input(g, "samples", TC_F32, CHUNK);
    tc_weights(g, WEIGHTS);

    tc_tensor context = tc_state(g, "context", TC_F32, CONTEXT);
    tc_assign(context, tc_slice(samples, 0, CHUNK - CONTEXT, TC_END));
    tc_tensor x = spectrum(g, tc_concat(0, context, samples));
    static const int strides[] = {1, 2, 2, 1};
    for (int i = 0; i < 4; i++) /* 4, 4, 2, 1 and 1 positions in time */
        TC_SCOPE(g, "conv%d", i + 1)
            x = tc_relu(convolve(x, tc_weight(g, "weight"), tc_weight(g, "bias"), strides[i], 1));
    x = tc_relu(lstm_cell(g, tc_squeeze(x, 2)));
    x = tc_linear(x, tc_squeeze(tc_weight(g, "final_conv.weight"), 2), tc_weight(g, "final_conv.bias"));
    tc_output(g, "speech", tc_reshape(tc_sigmoid(x), 1));
}
